// Shows a document: its data, and its text at the passage that the address names; adds, changes and deletes documents.

import { address, entitle, withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { byId, documentName, el, factLine, fill, termList, uriBesideName } from "../page/dom.js";
import { forgetEdits, hasEdits } from "../page/edits.js";
import { confirmed, guarded, say } from "../page/messages.js";
import { documentForm, editsOf } from "./document_form.js";
import { placeOf, showText } from "./text.js";

const MISSING = "No such document";
const DELETED = "Document deleted";
const GONE = "The passage is no longer where it was: the document has changed since. This is the document as it is now.";
const message = byId("document-message");
let wanted = null;
// What is said above the next document that is shown.
let notice = null;

/** The address of a document, at the passage of a hit or of a chunk if one is given. */
export function documentAddress(id, { chunk_id: chunk, chunk_index: at } = {}) {
  return address("document", { id, chunk, at });
}

/** Shows the document `id` of the parameters, at its chunk `chunk`, whose index `at` is only a hint where to look. */
export async function showDocument(parameters) {
  const own = (wanted = parameters);
  const isWanted = () => own === wanted;
  fill(byId("document"), el("h1", { class: "visually-hidden", tabindex: "-1" }, "Document"));
  await guarded(message, async () => {
    if (notice) say(message, notice);
    notice = null;
    const found = await stored(parameters.get("id"));
    const passage = found && (await passageOf(found, parameters));
    if (!isWanted()) return;
    if (!byId("view-document").hidden) entitle(found ? documentName(found) : MISSING);
    if (!found) return showAlone(MISSING, "It was deleted, or replaced by a document with another id.");
    if (parameters.get("chunk") && !passage) say(message, GONE);
    if (hasEdits(editsOf(found.document_id))) edit(found);
    else show(found, passage);
  }, null, isWanted);
}

/** Shows a form for a new document; text that was pasted fills it. */
export function showNewDocument(pasted = null) {
  const form = documentForm(null, { saved: added, closed: () => (location.hash = "#documents") });
  fill(byId("new-document"), form);
  if (typeof pasted === "string" && !form.elements.content.value) {
    form.elements.content.value = pasted;
    form.dispatchEvent(new Event("input"));
  }
  form.elements.content.focus();
}

/** A document, or null. */
async function stored(id) {
  try {
    return await call("GET", `documents/${encodeURIComponent(id)}`);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** The offsets of the wanted chunk, or null if none is wanted or it is not where it was. */
async function passageOf({ document_id: id, content }, parameters) {
  const chunk = parameters.get("chunk");
  if (!chunk) return null;
  const path = withParameters(`documents/${id}/chunks`, { limit: 1, offset: Number(parameters.get("at")) || 0 });
  const [found] = (await call("GET", path)).chunks;
  return found?.chunk_id === chunk ? placeOf(found, content) : null;
}

/** Shows a heading with a sentence in the place of a document. */
function showAlone(heading, text) {
  const said = el("p", { class: "message", role: "status" }, text, " ", el("a", { href: "#documents" }, "All documents"));
  fill(byId("document"), title(heading), said);
}

function title(text) {
  return el("h1", { id: "document-title", tabindex: "-1", dir: "auto" }, text);
}

function show(found, passage) {
  const change = el("button", { type: "button", click: () => edit(found) }, "Edit");
  const remove = el("button", { type: "button", class: "danger", click: () => removed(found) }, "Delete");
  const metadata = Object.entries(found.metadata).map(([key, value]) => [key, metadataText(value)]);
  const text = el("div", { class: "document-text" });
  fill(byId("document"), head(found, el("div", { class: "actions" }, change, remove), metadata.length ? termList(metadata) : null), text);
  showText(text, found, passage);
}

function edit(found) {
  const isWanted = stillWanted();
  fill(message);
  const form = documentForm(found, { saved: (result) => isWanted() && changed(result), closed: () => show(found, null) });
  fill(byId("document"), head(found), form);
  form.elements.content.focus();
}

function head(found, actions, metadata) {
  const day = (moment) => moment.slice(0, 10);
  const facts = factLine(found.uri ? uriBesideName(found) : "no URI", found.language, `created ${day(found.created_at)}`, `changed ${day(found.updated_at)}`);
  return el("header", { class: "document-head" }, el("div", { class: "list-head" }, title(documentName(found)), actions), facts, metadata);
}

/** What tells later whether the page still shows the document that it shows now. */
function stillWanted() {
  const id = wanted.get("id");
  return () => !byId("view-document").hidden && wanted.get("id") === id;
}

/** A value of metadata as people read it: strings as they are, other values as JSON. */
function metadataText(value) {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

async function changed(result) {
  notice = outcome("Saved.", result);
  await showDocument(new URLSearchParams({ id: wanted.get("id") }));
  byId("document-title")?.focus();
}

function added(result) {
  if (result.job_id) return fill(byId("new-document"), el("p", { class: "message", role: "status" }, "A job stores the text. It is among the ", el("a", { href: "#documents" }, "documents"), " when all of it is stored."));
  if (byId("view-new").hidden) return null;
  notice = outcome({ added: "Added.", replaced: "Replaced the earlier version." }[result.status] ?? "Stored already.", result);
  return (location.hash = documentAddress(result.document_id));
}

function outcome(text, { job_id: job, warnings }) {
  return [job ? "A job stores the change; the document is shown as it was until then." : text, ...warnings].join(" ");
}

async function removed(found) {
  const [name, isWanted] = [documentName(found), stillWanted()];
  const text = `“${name}” and its chunks are removed for good.`;
  if (!(await confirmed({ title: "Delete this document?", text, action: "Delete" }))) return;
  await guarded(message, async () => {
    await call("DELETE", `documents/${found.document_id}`);
    forgetEdits(editsOf(found.document_id));
    if (!isWanted()) return;
    entitle(DELETED);
    showAlone(DELETED, `“${name}” and its chunks are deleted.`);
    byId("document-title").focus();
  });
}
