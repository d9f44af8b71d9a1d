// Edits the title and the metadata of a document.

import { Problem, call } from "../page/api.js";
import { el, fill } from "../page/dom.js";
import { mergePatch } from "./merge_patch.js";
import { showProblem } from "../page/problems.js";

const UNCHANGED = { job_id: null, warnings: [] };

/** A form for a document; `saved` gets the result of a change. */
export function editForm(found, saved) {
  const title = el("input", { name: "title", maxlength: "500", dir: "auto", value: found.title });
  const metadata = el("textarea", { name: "metadata", rows: "8", spellcheck: "false", dir: "auto", "aria-describedby": "metadata-note" });
  metadata.value = JSON.stringify(found.metadata, null, 2);
  const message = el("div", { role: "status" });
  const form = el(
    "form",
    { class: "fields message" },
    el("label", {}, "Title", title),
    el("label", {}, "Metadata as JSON", metadata),
    el("p", { class: "note", id: "metadata-note" }, "Searches can filter by these values; null removes a key. With a new title the text is embedded and indexed again."),
    message,
    el("div", {}, el("button", { type: "submit", class: "primary" }, "Save")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(found, { title, metadata }, message, saved);
  });
  return form;
}

async function save(found, controls, message, saved) {
  fill(message);
  for (const control of Object.values(controls)) control.removeAttribute("aria-invalid");
  try {
    const body = changeOf(found, controls);
    await saved(Object.keys(body).length ? await call("PATCH", `documents/${found.document_id}`, { body }) : UNCHANGED);
  } catch (error) {
    showProblem(message, error);
    for (const { field } of error.errors) controls[field.split(/[.[]/)[0]]?.setAttribute("aria-invalid", "true");
  }
}

/** The fields that differ. Throws Problem. */
function changeOf(found, { title, metadata }) {
  const change = {};
  if (title.value.trim() !== found.title) change.title = title.value.trim() || null;
  const patch = mergePatch(found.metadata, objectOf(metadata.value));
  if (Object.keys(patch).length) change.metadata = patch;
  return change;
}

function objectOf(text) {
  let value = null;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch {
    // Reported below, as other values that are no objects.
  }
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw Problem.of("metadata", 'Must be a JSON object, such as {"team": "tide"}.');
}
