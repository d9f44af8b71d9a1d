// A form for the title, the text, the URI and the metadata of a document, whose edits are kept until they are saved.

import { Problem, call } from "../page/api.js";
import { confirmed } from "../page/confirm.js";
import { el, fill } from "../page/dom.js";
import { forgetEdits, hasEdits, keepEdits } from "../page/edits.js";
import { showProblem } from "../page/problems.js";
import { mergePatch } from "./merge_patch.js";

// Characters of a text that a field takes without stopping the page.
const LONGEST = 1_000_000;
const NEW = { title: "", content: "", uri: null, metadata: {}, source_id: null, updated_at: null };
const UNCHANGED = { job_id: null, warnings: [] };
const CHANGED = "The document was changed by someone else after you began: saving replaces the fields that you changed.";
const LONG = "The text is too long to be edited here.";
const OF_SOURCE = "A source has read this document from a file: the file replaces it when it changes.";

/** What the edits of a document are kept under; that of a new one has no id. */
export function editsOf(id = "") {
  return `document ${id}`;
}

/** A form for a stored document, or a new one; `saved` gets the result, and `closed` is called if it is cancelled. */
export function documentForm(found, { saved, closed }) {
  const old = found ?? NEW;
  const key = editsOf(old.document_id);
  const title = el("input", { name: "title", maxlength: "500", dir: "auto", value: old.title, placeholder: "By default its first heading" });
  const content = el("textarea", { name: "content", rows: "18", dir: "auto", class: "prose" });
  const uri = el("input", { name: "uri", maxlength: "2048", spellcheck: "false", value: old.uri, placeholder: "notes/lime.md" });
  const metadata = el("textarea", { name: "metadata", rows: "5", spellcheck: "false", dir: "auto" });
  const message = el("div", { role: "status" });
  const cancel = el("button", { type: "button", click: () => discard(key, closed) }, "Cancel");
  content.disabled = old.content.length > LONGEST;
  content.value = content.disabled ? LONG : old.content;
  content.setSelectionRange(0, 0);
  metadata.value = JSON.stringify(old.metadata, null, 2);
  const form = el(
    "form",
    { class: "fields document-form", autocomplete: "off" },
    el("label", {}, "Title", title),
    el("label", {}, "Text, plain or Markdown", content),
    el("label", {}, "URI: a document with the same one is replaced", uri),
    el("label", {}, "Metadata as JSON, to filter by", metadata),
    el("div", { class: "actions" }, cancel, el("button", { type: "submit", class: "primary" }, "Save")),
    message,
  );
  const began = keepEdits(form, key, old.updated_at);
  const notes = [old.source_id ? OF_SOURCE : null, began === old.updated_at ? null : CHANGED].filter(Boolean);
  form.prepend(...notes.map((note) => el("p", { class: "note" }, note)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const result = await save(found, { title, content, uri, metadata }, message);
    if (!result) return;
    forgetEdits(key);
    saved(result);
  });
  return form;
}

/** Closes a form; edits are discarded after a question. */
async function discard(key, closed) {
  const question = { title: "Discard your changes?", text: "What you typed is not saved.", action: "Discard" };
  if (hasEdits(key) && !(await confirmed(question))) return;
  forgetEdits(key);
  closed();
}

/** Stores what the controls hold; the result, or null if it is refused. */
async function save(found, controls, message) {
  fill(message);
  for (const control of Object.values(controls)) control.removeAttribute("aria-invalid");
  try {
    const given = read(controls);
    if (!found) return await call("POST", "documents", { body: { ...given, title: given.title ?? undefined, uri: given.uri ?? undefined } });
    const body = changes(found, given);
    return Object.keys(body).length ? await call("PATCH", `documents/${found.document_id}`, { body }) : UNCHANGED;
  } catch (error) {
    showProblem(message, error);
    for (const { field } of error.errors) controls[field.split(/[.[]/)[0]]?.setAttribute("aria-invalid", "true");
    return null;
  }
}

/** The fields as a request has them. Throws Problem. */
function read({ title, content, uri, metadata }) {
  return { title: title.value.trim() || null, content: content.disabled ? undefined : content.value, uri: uri.value.trim() || null, metadata: objectOf(metadata.value) };
}

/** The fields that differ, metadata as a merge patch. */
function changes(found, { metadata, ...given }) {
  const changed = Object.entries(given).filter(([name, value]) => value !== undefined && value !== (found[name] || null) && (value || found[name]));
  const patch = mergePatch(found.metadata, metadata);
  return { ...Object.fromEntries(changed), ...(Object.keys(patch).length ? { metadata: patch } : {}) };
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
