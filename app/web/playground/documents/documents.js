// Lists the stored documents page by page, with search, filters, order and selection, and deletes them.

import { address, replaceAddress } from "../page/address.js";
import { call } from "../page/api.js";
import { deleteMany } from "./bulk_delete.js";
import { valueChips } from "../page/chips.js";
import { confirmed } from "../page/confirm.js";
import { chooseValue, isNarrowed, listed, offerChoices, offerValues, selected, showSelected } from "./document_filters.js";
import { byId, documentName, el, fill, shownUri, uriBesideName } from "../page/dom.js";
import { Pages } from "../page/pages.js";
import { guarded } from "../page/problems.js";
import { Selection } from "../page/selection.js";

const PER_PAGE = 50;
const PER_REQUEST = 200;
const TYPING_MS = 250;
const form = byId("documents-form");
const guard = (work) => guarded(byId("documents-message"), work);
const pages = new Pages(byId("documents-pages"), { load, show, guard });
const selection = new Selection({ bar: byId("documents-bulk"), list: byId("documents"), choose: chooseAll, remove: removeSelected });
let typing = null;

/** Shows what the address selects of what is stored. */
export async function listDocuments(parameters = new URLSearchParams(selected(form))) {
  showSelected(form, parameters);
  selection.ids.clear();
  const filters = byId("documents-filters");
  if (filters.open) guard(() => offerChoices(form));
  if (showFilters()) filters.open = true;
  await Promise.all([pages.open(selected(form)), guard(showStats)]);
}

/** Loads the shown page again, and the counts. */
export async function refreshDocuments() {
  await Promise.all([pages.again(), guard(showStats)]);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});
form.addEventListener("reset", () => {
  form.elements.metadata.value = "";
  setTimeout(changed);
});
form.elements.query.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(changed, TYPING_MS);
});
for (const name of ["sort", "source", "folder", "file_types", "metadata"]) form.elements[name].addEventListener("change", changed);
form.elements.key.addEventListener("change", () => guard(() => offerValues(form)));
form.elements.value.addEventListener("change", () => form.elements.value.value && chooseValue(form));
byId("documents-filters").addEventListener("toggle", (event) => event.target.open && guard(() => offerChoices(form)));

function changed() {
  clearTimeout(typing);
  replaceAddress("documents", selected(form));
  selection.ids.clear();
  showFilters();
  return pages.open(selected(form));
}

/** Shows how many filters are set, and returns that. */
function showFilters() {
  const { query, sort, ...filters } = selected(form);
  const number = Object.keys(filters).length;
  byId("documents-filters-set").hidden = !number;
  byId("documents-filters-set").textContent = `${number} set`;
  fill(byId("documents-chosen"), valueChips(form));
  return number;
}

function load(cursor, limit = PER_PAGE) {
  const parameters = { limit, ...listed(form), ...(cursor ? { cursor } : {}) };
  return call("GET", `documents?${new URLSearchParams(parameters)}`);
}

function show(page, at) {
  fill(byId("documents"), page.documents.map(row));
  selection.show();
  if (page.documents.length || at) return;
  const text = isNarrowed(selected(form)) ? "No document matches." : "Nothing is stored yet.";
  fill(byId("documents-message"), el("p", { class: "message" }, text));
}

async function showStats() {
  const stats = await call("GET", "stats");
  const number = (value) => value.toLocaleString("en");
  byId("stats").textContent = `${number(stats.documents)} documents, ${number(stats.chunks)} chunks, ${number(stats.tokens)} words, embedded by ${stats.embedding_model}`;
  fill(byId("duplicates"), repeatedDocuments(stats.duplicates));
}

function repeatedDocuments({ documents, sets }) {
  if (!documents) return null;
  const title = documents === 1 ? "1 document repeats another one" : `${documents.toLocaleString("en")} documents repeat others`;
  const names = (set) => set.documents.map((one) => (one.uri ? shownUri(one.uri) : one.title)).join(", ") + (set.count > set.documents.length ? ", …" : "");
  return el("details", { class: "fold" }, el("summary", {}, title), el("ul", { class: "plain" }, sets.map((set) => el("li", { class: "where" }, `${set.count}: ${names(set)}`))));
}

function row(document) {
  const name = documentName(document);
  const chunks = document.chunk_count === 1 ? "1 chunk" : `${document.chunk_count.toLocaleString("en")} chunks`;
  const facts = el("span", { class: "where" }, uriBesideName(document), el("span", {}, chunks), el("span", {}, document.created_at.slice(0, 10)));
  const title = el("a", { href: address("document", { id: document.document_id }), dir: "auto" }, name);
  const remove = el("button", { type: "button", class: "quiet", "aria-label": `Delete ${name}`, click: (event) => removeOne(document, name, event.target) }, "Delete");
  return el("li", { class: "row row-chosen" }, selection.box(document.document_id, name), el("div", { class: "row-text" }, el("strong", {}, title), facts), remove);
}

async function removeOne(document, name, button) {
  const text = `“${name}” and its chunks are removed for good.`;
  if (!(await confirmed({ title: "Delete this document?", text, action: "Delete" }))) return;
  const at = [...byId("documents").children].indexOf(button.closest("li"));
  await guard(async () => {
    await call("DELETE", `documents/${document.document_id}`);
    selection.ids.delete(document.document_id);
    await refreshDocuments();
    byId("documents-message").textContent = `Deleted ${name}.`;
    // The row that is in its place, so that the page does not scroll away.
    const rows = byId("documents").children;
    (rows[Math.min(at, rows.length - 1)]?.querySelector("button") ?? byId("documents-title")).focus();
  });
}

/** Selects every document that the controls select, on all pages. */
function chooseAll() {
  return guard(async () => {
    for (let cursor; cursor !== null; ) {
      const page = await load(cursor, PER_REQUEST);
      selection.add(page.documents.map((document) => document.document_id));
      cursor = page.next_cursor;
    }
  });
}

async function removeSelected() {
  const outcome = byId("documents-deletion");
  if (!(await deleteMany(selection.ids, outcome))) return;
  await refreshDocuments();
  outcome.firstElementChild.focus();
}
