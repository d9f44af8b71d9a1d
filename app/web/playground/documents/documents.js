// Lists the stored documents page by page, with search, filters, order and selection, and deletes them.

import { address, replaceAddress } from "../page/address.js";
import { call } from "../page/api.js";
import { filterChips } from "../page/chips.js";
import { confirmed } from "../page/confirm.js";
import { byId, documentName, el, fill, uriBesideName } from "../page/dom.js";
import { readFilters } from "../page/filters.js";
import { setValue } from "../page/form_values.js";
import { Pages } from "../page/pages.js";
import { partsOf } from "../page/parts.js";
import { guarded } from "../page/problems.js";
import { Selection } from "./selection.js";

const PER_PAGE = 50;
const TYPING_MS = 250;
const DEFAULTS = { sort: "newest" };
const form = byId("documents-form");
const guard = (work) => guarded(byId("documents-message"), work);
const pages = new Pages(byId("documents-pages"), { load, show, guard });
const selection = new Selection({ bar: byId("documents-bulk"), list: byId("documents"), remove: removeSelected });
let typing = null;

/** Shows what the address selects of what is stored. */
export async function listDocuments(parameters = new URLSearchParams(selected())) {
  for (const { name } of controls()) setValue(form.elements[name], parameters.get(name) ?? DEFAULTS[name] ?? "");
  const filters = byId("documents-filters");
  if (filters.open) offerChoices();
  if (showFilters()) filters.open = true;
  await Promise.all([pages.open(selected()), guard(showStats)]);
}

/** Loads the shown page again, and the counts. */
export async function refreshDocuments() {
  await Promise.all([pages.again(), guard(showStats)]);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});
form.addEventListener("reset", () => setTimeout(changed));
form.elements.query.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(changed, TYPING_MS);
});
form.addEventListener("change", ({ target }) => target.name && target.name !== "query" && changed());
byId("documents-filters").addEventListener("toggle", (event) => event.target.open && offerChoices());

/** The controls that the address has. */
function controls() {
  return [...form.elements].filter(({ name }) => name);
}

/** What the controls select, by name; only those that are set. */
function selected() {
  const values = controls().map(({ name, value }) => [name, value.trim()]);
  return Object.fromEntries(values.filter(([name, value]) => value && value !== DEFAULTS[name]));
}

/** Fills the filters whose choices depend on what is stored. */
function offerChoices() {
  return guard(() => Promise.all(partsOf("documents", form)));
}

function changed() {
  clearTimeout(typing);
  replaceAddress("documents", selected());
  showFilters();
  if (byId("documents-filters").open) offerChoices();
  return pages.open(selected());
}

/** Shows how many filters are set, and returns that. */
function showFilters() {
  const { query, sort, ...filters } = selected();
  const number = Object.keys(filters).length;
  byId("documents-filters-set").hidden = !number;
  byId("documents-filters-set").textContent = `${number} set`;
  fill(byId("documents-chosen"), filterChips(form));
  return number;
}

function load(cursor) {
  const { query, sort } = selected();
  const filters = readFilters(form);
  const given = { limit: PER_PAGE, query, sort, filters: filters && JSON.stringify(filters), cursor };
  const parameters = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  return call("GET", `documents?${new URLSearchParams(parameters)}`);
}

function show(page, at) {
  const chosen = selection.ids();
  fill(byId("documents"), page.documents.map((document) => row(document, chosen.includes(document.document_id))));
  selection.show();
  if (page.documents.length || at) return;
  const { sort, ...narrowed } = selected();
  const text = Object.keys(narrowed).length ? "No document matches." : "Nothing is stored yet.";
  fill(byId("documents-message"), el("p", { class: "message" }, text));
}

async function showStats() {
  const stats = await call("GET", "stats");
  const number = (value) => value.toLocaleString("en");
  byId("stats").textContent = `${number(stats.documents)} documents, ${number(stats.chunks)} chunks, ${number(stats.tokens)} words, embedded by ${stats.embedding_model}`;
}

function row(document, isChosen) {
  const name = documentName(document);
  const chunks = document.chunk_count === 1 ? "1 chunk" : `${document.chunk_count.toLocaleString("en")} chunks`;
  const facts = el("span", { class: "where" }, uriBesideName(document), el("span", {}, chunks), el("span", {}, document.created_at.slice(0, 10)));
  const title = el("a", { href: address("document", { id: document.document_id }), dir: "auto" }, name);
  return el("li", { class: "row row-chosen" }, el("input", { type: "checkbox", value: document.document_id, checked: isChosen, "aria-label": `Select ${name}` }), el("div", { class: "row-text" }, el("strong", {}, title), facts));
}

async function removeSelected(ids) {
  const what = ids.length === 1 ? "1 document" : `${ids.length} documents`;
  if (!(await confirmed({ title: `Delete ${what}?`, text: `${what} with their chunks are removed for good.`, action: `Delete ${what}` }))) return;
  await guard(async () => {
    const { documents_deleted: deleted } = await call("POST", "documents/delete", { body: { filters: { document_ids: ids } } });
    await refreshDocuments();
    byId("documents-message").textContent = `${deleted} of ${ids.length} deleted.`;
    byId("documents-title").focus();
  });
}
