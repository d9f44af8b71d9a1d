// Shows a document: its data, and its text by chunks, at the one that the address names.

import { address, entitle } from "../page/address.js";
import { call } from "../page/api.js";
import { confirmed } from "../page/confirm.js";
import { editForm } from "./document_edit.js";
import { byId, documentName, el, fill, uriBesideName } from "../page/dom.js";
import { metadataList } from "../page/metadata.js";
import { chunkList } from "./passages.js";
import { showProblem } from "../page/problems.js";

const MISSING = "No such document";
const DELETED = "Document deleted";
let wanted = null;

/** The address of a document, at the passage of a hit or of a chunk if one is given. */
export function documentAddress(id, { chunk_id: chunk, chunk_index: at } = {}) {
  return address("document", { id, chunk, at });
}

/** Shows the document `id` of the parameters, at its chunk `chunk`, whose index `at` is only a hint where to look. */
export async function showDocument(parameters) {
  const own = (wanted = parameters);
  fill(byId("document-message"));
  fill(byId("document"));
  try {
    const found = await stored(parameters.get("id"));
    if (own !== wanted) return;
    const isShown = !byId("view-document").hidden;
    if (isShown) entitle(found ? documentName(found) : MISSING);
    if (!found) return showAlone(MISSING, "It was deleted, or replaced by a document with another id.");
    const place = el("div", { class: "chunks" });
    fill(byId("document"), head(found), place);
    await chunkList(place, found, parameters);
  } catch (error) {
    if (own === wanted) showProblem(byId("document-message"), error);
  }
}

/** A document without its text, or null. */
async function stored(id) {
  const filters = JSON.stringify({ document_ids: [id] });
  return (await call("GET", `documents?${new URLSearchParams({ filters, limit: 1 })}`)).documents[0] ?? null;
}

/** Shows a heading with a sentence in the place of a document. */
function showAlone(heading, text) {
  const message = el("p", { class: "message", role: "status" }, text, " ", el("a", { href: "#documents" }, "All documents"));
  fill(byId("document"), el("h1", { id: "document-title", class: "lead", tabindex: "-1" }, heading), message);
}

function head(found) {
  const name = documentName(found);
  const place = el("div", { class: "document-edit" });
  const edit = el("button", { type: "button", "aria-expanded": "false", "aria-controls": "document-edit" }, "Edit");
  place.id = "document-edit";
  edit.addEventListener("click", () => {
    const isOpen = place.childElementCount > 0;
    edit.setAttribute("aria-expanded", String(!isOpen));
    fill(place, isOpen ? null : editForm(found, saved));
    place.querySelector("input")?.focus();
  });
  const remove = el("button", { type: "button", class: "danger", click: () => removed(found, name) }, "Delete");
  return el(
    "header",
    { class: "document-head" },
    el("div", { class: "document-top" }, el("h1", { id: "document-title", class: "lead", tabindex: "-1", dir: "auto" }, name), el("div", { class: "actions" }, edit, remove)),
    el("p", { class: "where" }, facts(found).map((fact) => (typeof fact === "string" ? el("span", {}, fact) : fact))),
    metadataList(found.metadata),
    place,
  );
}

function facts(found) {
  const day = (moment) => moment.slice(0, 10);
  return [
    found.uri ? uriBesideName(found) : "no URI",
    found.chunk_count === 1 ? "1 chunk" : `${found.chunk_count.toLocaleString("en")} chunks`,
    found.language,
    `created ${day(found.created_at)}`,
    `changed ${day(found.updated_at)}`,
  ].filter(Boolean);
}

async function saved(result) {
  await showDocument(wanted);
  const text = result.job_id ? "A job stores the change; the document is shown as it was until then." : "Saved.";
  fill(byId("document-message"), el("p", { class: "message" }, [text, ...result.warnings].join(" ")));
  byId("document-title")?.focus();
}

async function removed(found, name) {
  const text = `“${name}” and its chunks are removed for good.`;
  if (!(await confirmed({ title: "Delete this document?", text, action: "Delete" }))) return;
  try {
    await call("DELETE", `documents/${found.document_id}`);
    fill(byId("document-message"));
    entitle(DELETED);
    showAlone(DELETED, `“${name}” and its chunks are deleted.`);
    byId("document-title").focus();
  } catch (error) {
    showProblem(byId("document-message"), error);
  }
}
