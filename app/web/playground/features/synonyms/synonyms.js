// A page that shows the groups of synonyms as lines, and stores them.

import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { forgetEdits, keepEdits } from "../../page/edits.js";
import { addView } from "../../page/parts.js";
import { guarded } from "../../page/problems.js";
import { readGroups, writeGroup } from "./lines.js";

const KEY = "synonyms";
const view = addView("synonyms", "Synonyms", showSynonyms);
const lines = el("textarea", { name: "lines", rows: "14", spellcheck: "false", dir: "auto", placeholder: "boiler, furnace, heating unit\nvehicle => car, lorry" });
const message = el("div", { id: "synonyms-message", role: "status" });
const form = el(
  "form",
  { class: "fields", hidden: true },
  el("label", {}, "Groups, one a line", lines),
  el("div", { class: "actions" }, el("button", { type: "submit", class: "primary" }, "Save")),
);

view.append(
  el("p", { class: "note" }, "A search for a word or phrase also finds the others of its line; with ", el("code", {}, "=>"), " only those after it, and not the other way round."),
  message,
  form,
);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(message, save);
});

/** Shows what is stored, or what was typed and is not saved yet. */
async function showSynonyms() {
  form.hidden = !(await guarded(message, async () => {
    const { groups } = await call("GET", "synonyms");
    lines.value = groups.map((group) => `${writeGroup(group)}\n`).join("");
    keepEdits(form, KEY);
  }));
}

async function save() {
  const groups = readGroups(lines.value);
  const stored = await call("PUT", "synonyms", { body: { groups: groups.map(({ terms, expand_to }) => ({ terms, expand_to })) } }).catch((error) => {
    throw byLine(error, groups);
  });
  forgetEdits(KEY);
  await showSynonyms();
  fill(message, el("p", { class: "message" }, stored.groups === 1 ? "1 group is stored." : `${stored.groups.toLocaleString("en")} groups are stored.`));
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
