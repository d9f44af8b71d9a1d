// A page that shows the groups of synonyms as lines, such as `boiler, furnace` or `vehicle => car, lorry`, and stores them.

import { Problem, call } from "../../page/api.js";
import { amount, byId, el, fill } from "../../page/dom.js";
import { editForm } from "../../page/edits.js";
import { guarded, say } from "../../page/messages.js";
import { addView } from "../../page/parts.js";

const view = addView("synonyms", "Synonyms", showSynonyms);
const message = el("div", { id: "synonyms-message", role: "status" });
const place = el("div", { class: "one-column", "data-stored": "" });

view.append(
  el("p", { class: "note" }, "A search for a word or phrase also finds the others of its line; with ", el("code", {}, "=>"), " only those after it, and not the other way round."),
  message,
  place,
);

/** Shows what is stored, or what was typed and is not saved yet. */
async function showSynonyms() {
  fill(place);
  await guarded(message, async () => {
    const { groups } = await call("GET", "synonyms");
    const stored = groups.map((group) => `${writeGroup(group)}\n`).join("");
    const lines = el("textarea", { name: "lines", rows: "14", spellcheck: "false", dir: "auto", placeholder: "boiler, furnace, heating unit\nvehicle => car, lorry" }, stored);
    fill(place, editForm("synonyms", { "Groups, one a line": lines }, { save, done }));
  });
}

async function save({ lines }) {
  const groups = readGroups(lines.value);
  try {
    return await call("PUT", "synonyms", { body: { groups: groups.map(({ terms, expand_to }) => ({ terms, expand_to })) } });
  } catch (error) {
    throw byLine(error, groups);
  }
}

async function done({ groups }) {
  await showSynonyms();
  say(message, `Stored: ${amount(groups, "group")}.`);
  byId("synonyms-title").focus();
}

/** A problem that names the lines of wrong groups. */
function byLine(error, groups) {
  const errors = (error.errors ?? []).map((one) => {
    const group = groups[/^groups\[(\d+)\]/.exec(one.field)?.[1]];
    return group ? { ...one, field: `line ${group.line}` } : one;
  });
  return error instanceof Problem ? new Problem({ ...error, detail: error.message, errors }) : error;
}

/** The groups of a text, each with the number of its line, as the service reads those of a file. A backslash makes the character after it plain. */
function readGroups(text) {
  return text
    .split("\n")
    .map((line, index) => ({ line: index + 1, text: line.trim() }))
    .filter((one) => one.text && !one.text.startsWith("#"))
    .map((one) => ({ line: one.line, ...groupOf(one.text) }));
}

/** A group as a line. */
function writeGroup({ terms, expand_to: others }) {
  const written = [terms, others].filter((side) => side?.length).map((side) => side.map((term) => term.replace(/[\\,]|=(?=>)|^#/g, "\\$&")).join(", "));
  return written.join(" => ");
}

function groupOf(line) {
  const sides = [[""]];
  for (const [, escaped, mark, plain] of line.matchAll(/\\(.)|(=>|,)|(.)/gs)) {
    if (mark === "=>") sides.push([""]);
    else if (mark) sides.at(-1).push("");
    else sides.at(-1)[sides.at(-1).length - 1] += escaped ?? plain;
  }
  const [terms, ...others] = sides.map((side) => side.map((term) => term.trim()).filter(Boolean));
  return { terms, expand_to: others.flat() };
}
