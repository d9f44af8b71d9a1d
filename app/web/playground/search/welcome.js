// Shows where to begin before the first search: queries for the sample notes, or how to store documents.

import { address, withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { amount, byId, documentName, el, fill } from "../page/dom.js";

const SAMPLE = "sample/howto/travel-claims.md";
// Queries that the sample notes answer, each with what it shows and the controls it sets.
const SAMPLE_QUERIES = [
  ["Why don't the Gannets phone home every minute?", "a question in other words than the document's"],
  ["ERR_TIDE_4012", "an identifier"],
  ['"no cement below the third landing"', "a phrase"],
  ["Which musical instrument does the author of the backfill guide play?", "two documents, linked by a name", { depth: "thorough" }],
  ["What has cliffclarke been working on?", "a person, by a handle"],
  ["What is the capital of France?", "not in the notes: no answer likely"],
];

/** Shows where to begin while `isWanted`. Throws Problem. */
export async function showWelcome(isWanted) {
  const [{ documents: number }, { documents: samples }, { documents: recent }] = await Promise.all([
    call("GET", "stats"),
    call("GET", withParameters("documents", { uri: SAMPLE })),
    call("GET", "documents?limit=50"),
  ]);
  if (!isWanted()) return;
  const stored = `${amount(number, "document")} ${number === 1 ? "is" : "are"} stored`;
  const names = [...new Set(recent.map(documentName))]; // the rows of a table have the same
  const titles = names.slice(0, 3).map((name) => [name, "the title of a recent document"]);
  if (!number) fill(byId("answer"), nothingStored());
  else if (samples.length) fill(byId("answer"), queries(`${stored}, the sample notes of a small company among them. Try one of these:`, SAMPLE_QUERIES));
  else fill(byId("answer"), queries(`${stored}. Ask a question about them, or begin with a title:`, titles));
}

function queries(text, found) {
  const items = found.map(([query, what, controls]) => {
    const click = () => (location.hash = address("search", { query, ...controls }));
    return el("li", {}, el("button", { type: "button", class: "sample", click }, el("span", { dir: "auto" }, query), el("small", { class: "note" }, what)));
  });
  return el("div", { class: "welcome fold-body" }, el("p", {}, text), el("ul", { class: "samples" }, items));
}

function nothingStored() {
  return el(
    "div",
    { class: "welcome fold-body" },
    el("h2", {}, "Nothing is stored yet"),
    el("p", {}, "Add some files under ", el("a", { href: "#documents" }, "Documents"), ", or start the service with ", el("code", {}, "stepwell demo"), ", which stores the notes of a small company to try things on."),
  );
}
