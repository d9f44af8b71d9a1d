// Keeps the search that is shown and the address alike: the address fills the form, and a submitted form sets the address.

import { address, current } from "../page/address.js";
import { byId } from "../page/dom.js";
import { showChips } from "../page/chips.js";
import { showFacets } from "./facets.js";
import { changedValues, setValues } from "../page/form_values.js";
import { adaptToDepth, showChanged } from "./options.js";
import { clearAnswer, isSearching, search } from "./search.js";
import { suggestSources } from "../page/sources.js";

const form = byId("search-form");
let shown = null;

/** Shows the search of the address, unless it is shown already; without a query `greet` is shown. */
export async function showSearch(parameters, { greet, isOpened }) {
  if (isOpened) showFacetsIfOpen();
  if (location.hash === shown) return;
  setValues(form, parameters);
  if (form.elements.query.value) return start();
  remember();
  clearAnswer();
  refresh();
  await greet(() => shown === location.hash && !current().parameters.get("query"));
}

/** Lets the search be shown anew, for instance with another key. */
export function forgetSearch() {
  shown = null;
  showFacetsIfOpen();
}

/** Searches for a query with some controls, and with defaults for the others. */
export function ask(query, controls = {}) {
  location.hash = address("search", { query, ...controls });
}

/** Begins a search with what the form holds, unless it runs already: Enter in a field changes it and submits the form. */
export function submit() {
  const wanted = address("search", changedValues(form));
  if (wanted === shown && isSearching()) return;
  if (location.hash !== wanted) location.hash = wanted;
  start();
}

function changed(event) {
  if (event.target.name === "query") return;
  if (current().parameters.get("query")) submit();
  else refresh();
}

async function start() {
  remember();
  showControls();
  await search();
  showFacetsIfOpen();
}

function remember() {
  shown = location.hash;
  document.querySelector("nav [data-view=search]").href = shown || "#search";
}

function refresh() {
  showControls();
  showFacetsIfOpen();
}

function showControls() {
  adaptToDepth(form, byId("depth-note"));
  showChanged(form, changedValues(form));
  showChips(form);
}

function showFacetsIfOpen() {
  if (byId("options").open) showFacets(form);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
for (const control of form.elements) control.addEventListener("change", changed);
byId("options-reset").addEventListener("click", () => {
  setValues(form, new URLSearchParams({ query: form.elements.query.value }));
  changed({ target: form });
});
byId("options").addEventListener("toggle", showFacetsIfOpen);
suggestSources(form.elements.source);
