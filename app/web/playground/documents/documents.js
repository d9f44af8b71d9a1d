// Lists the stored documents page by page, with search, filters, order and selection, and deletes them.

import { address, withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { amount, byId, documentName, el, factLine, fill, uriBesideName } from "../page/dom.js";
import { filterChips, readFilters } from "../page/filters.js";
import { confirmed, guarded, say } from "../page/messages.js";
import { Listing } from "../page/pages.js";
import { partsOf } from "../page/parts.js";

const PER_PAGE = 50;
const TYPING_MS = 250;
const form = byId("documents-form");
const filters = byId("documents-filters");
const message = byId("documents-message");
const guard = (work) => guarded(message, work);
const listing = new Listing("documents", { load, show, guard, changed });
const all = el("input", { type: "checkbox", id: "documents-all" });
const chosen = el("span", { role: "status" });
const remove = el("button", { type: "button", class: "danger", click: removeSelected }, "Delete selected");
let typing = null;

/** Shows what the address selects of what is stored. */
export async function listDocuments(parameters) {
  const listed = listing.open(parameters);
  if (!byId("documents-filters-set").hidden) filters.open = true;
  await Promise.all([listed, guard(showStats)]);
}

/** Loads the shown page again, and the counts. */
export async function refreshDocuments() {
  await Promise.all([listing.again(), guard(showStats)]);
}

fill(byId("documents-bulk"), el("label", { class: "check" }, all, "Select this page"), chosen, remove);
byId("documents-list").addEventListener("change", showSelected);
all.addEventListener("change", () => {
  for (const box of boxes()) box.checked = all.checked;
  showSelected();
});
form.elements.query.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => form.checkVisibility() && listing.change(), TYPING_MS);
});
filters.addEventListener("toggle", () => filters.open && partsOf("documents", form));

/** Shows which filters are set. */
function changed({ query, sort, ...given }) {
  clearTimeout(typing);
  const number = Object.keys(given).length;
  byId("documents-filters-set").hidden = !number;
  byId("documents-filters-set").textContent = `${number} set`;
  fill(byId("documents-chosen"), filterChips(form));
  if (filters.open) partsOf("documents", form);
}

function load({ query, sort }, cursor) {
  return call("GET", withParameters("documents", { limit: PER_PAGE, query, sort, filters: readFilters(form), cursor }));
}

function show({ documents }, at) {
  const ids = selectedIds();
  fill(byId("documents-list"), documents.map((document) => row(document, ids.includes(document.document_id))));
  showSelected();
  if (documents.length || at) return;
  const { sort, ...narrowed } = listing.selected;
  say(message, Object.keys(narrowed).length ? "No document matches." : "Nothing is stored yet.");
}

async function showStats() {
  const { documents, chunks, tokens, embedding_model: model } = await call("GET", "stats");
  byId("stats").textContent = `${amount(documents, "document")}, ${amount(chunks, "chunk")}, ${amount(tokens, "word")}, embedded by ${model}`;
}

function row(document, isChosen) {
  const { document_id: id, chunk_count: chunks, created_at: created } = document;
  const name = documentName(document);
  const box = el("input", { type: "checkbox", value: id, checked: isChosen, "aria-label": `Select ${name}` });
  const title = el("strong", {}, el("a", { href: address("document", { id }), dir: "auto" }, name));
  return el("li", { class: "row" }, box, el("div", { class: "row-text" }, title, factLine(uriBesideName(document), amount(chunks, "chunk"), created.slice(0, 10))));
}

function boxes() {
  return [...byId("documents-list").querySelectorAll("input[type=checkbox]")];
}

function selectedIds() {
  return boxes().filter((box) => box.checked).map((box) => box.value);
}

function showSelected() {
  const [listed, number] = [boxes().length, selectedIds().length];
  byId("documents-bulk").hidden = !listed;
  all.checked = listed > 0 && number === listed;
  all.indeterminate = number > 0 && number < listed;
  chosen.textContent = number ? `${number} selected` : "";
  remove.hidden = !number;
}

async function removeSelected() {
  const ids = selectedIds();
  const what = amount(ids.length, "document");
  if (!(await confirmed({ title: `Delete ${what}?`, text: `${what} with their chunks are removed for good.`, action: `Delete ${what}` }))) return;
  await guard(async () => {
    const { documents_deleted: deleted } = await call("POST", "documents/delete", { body: { filters: { document_ids: ids } } });
    await refreshDocuments();
    message.textContent = `${deleted} of ${ids.length} deleted.`;
    byId("documents-title").focus();
  });
}
