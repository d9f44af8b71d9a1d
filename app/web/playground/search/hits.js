// Draws a hit as a card: place, snippet, relevance, what led to it, and its score.

import { documentAddress } from "../document/document.js";
import { documentName, el, factLine, inWords, uriBesideName } from "../page/dom.js";
import { lazyFold } from "../page/folds.js";
import { partsOf } from "../page/parts.js";
import { SIGNALS } from "../tables.js";
import { scoreParts } from "./explain.js";

/** The card of the hit of a query at a place, from 1; `explained` resolves to its answer with explanations. */
export function hitCard(hit, place, { answer, query, explained }) {
  return el(
    "li",
    { class: "card", id: `hit-${place}`, "data-chunk": hit.chunk_id },
    el("div", { class: "card-head" }, el("span", { class: "note place", "aria-hidden": "true" }, String(place)), heading(hit), relevance(hit)),
    snippet(hit),
    route(hit, answer),
    about(hit, answer),
    el("div", { class: "card-foot" }, why(hit, explained), more(hit), partsOf("card", hit, query)),
  );
}

function heading(hit) {
  const title = documentName(hit);
  const path = hit.heading_path.filter((name, index) => index > 0 || name !== title);
  const link = el("a", { href: documentAddress(hit.document_id, hit) }, title);
  return el("div", {}, el("h3", { dir: "auto" }, link), factLine(uriBesideName(hit), path.join(" › "), hit.page != null && `page ${hit.page}`));
}

function relevance(hit) {
  if (hit.relevance == null) return el("div", { class: "note" }, "no relevance");
  return el("div", { class: "note relevance", title: "Score of relevance, 0 to 1" }, "relevance ", el("strong", {}, hit.relevance.toFixed(2)));
}

/** The sentences of a hit with their matches. Offsets count code points, while JavaScript's strings count UTF-16 units. */
function snippet({ snippet: { text, matches } }) {
  // Blank lines are left out; spaces keep the offsets.
  const inLines = text.replace(/\n(?:[ \t\r]*\n)+/g, (found) => " ".repeat(found.length - 1) + "\n");
  const points = Array.from(inLines);
  const nodes = [];
  let done = 0;
  for (const [start, end] of matches) {
    nodes.push(points.slice(done, start).join(""), el("mark", {}, points.slice(start, end).join("")));
    done = end;
  }
  return el("p", { class: "snippet", dir: "auto" }, nodes, points.slice(done).join(""));
}

function route({ via }, answer) {
  if (!via) return null;
  const source = answer.results.find((other) => other.chunk_id === via.source_chunk_id);
  const from = source ? [" in ", el("cite", { dir: "auto" }, documentName(source))] : [];
  return el("p", { class: "note route" }, "reached by ", el("strong", { dir: "auto" }, via.name), from, ` (${SIGNALS[via.kind]})`);
}

function about(hit, answer) {
  const entity = answer.pass1_entities?.find((one) => one.entity_id === hit.parent?.entity_id);
  return entity ? el("p", {}, el("span", { class: "badge" }, `about ${entity.name}`)) : null;
}

function why(hit, explained) {
  return lazyFold("fold why", "Why", async () => {
    const { results } = await explained();
    const { explain, ...found } = results.find((other) => other.chunk_id === hit.chunk_id) ?? {};
    if (!explain) return el("p", { class: "note" }, "What is stored has changed since: search again.");
    return [ranks(found, explain), scoreParts(explain), duplicates(explain)];
  });
}

/** The measures behind the relevance of a hit. */
function ranks(hit, explain) {
  return factLine(
    `score ${hit.score.toFixed(3)}`,
    `${inWords(hit.confidence)} confidence`,
    explain.vector_rank != null && `vector #${explain.vector_rank}, cosine ${hit.vector_score.toFixed(3)}`,
    explain.text_rank != null && `text #${explain.text_rank}, BM25 ${hit.text_score.toFixed(2)}`,
  );
}

function duplicates({ duplicates: number, duplicate_documents: documents }) {
  if (!number) return null;
  const items = documents.map((one) => el("li", {}, el("a", { href: documentAddress(one.document_id), dir: "auto" }, documentName(one)), " ", uriBesideName(one)));
  return [el("p", { class: "note" }, number === 1 ? "1 passage repeats it:" : `${number} passages repeat it:`), el("ul", {}, items)];
}

function more(hit) {
  if (!hit.more?.length) return null;
  const others = hit.more.map((other) => [snippet(other), el("a", { href: documentAddress(other.document_id, other) }, "In the document")]);
  return el("details", { class: "fold" }, el("summary", {}, `${hit.more.length} more of this document`), el("div", { class: "fold-body" }, others));
}
