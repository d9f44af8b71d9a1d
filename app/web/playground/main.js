// Wires the page: views, key, search form and keyboard.

import { Problem, call, hasKey, setKey } from "./api.js";
import { listDocuments } from "./documents.js";
import { byId, fill } from "./dom.js";
import { listEntities } from "./entities.js";
import { adaptToDepth, changedCount } from "./options.js";
import { keyMessage, problemMessage } from "./problems.js";
import { hasSearched, search } from "./search.js";
import { acceptFiles } from "./uploads.js";
import { welcome } from "./welcome.js";

const VIEWS = { search: greet, documents: listDocuments, entities: listEntities };
const SAMPLE = "sample/howto/travel-claims.md";
const form = byId("search-form");

async function showView() {
  const chosen = Object.hasOwn(VIEWS, location.hash.slice(1)) ? location.hash.slice(1) : "search";
  for (const name of Object.keys(VIEWS)) {
    byId(`view-${name}`).hidden = name !== chosen;
    const link = document.querySelector(`nav a[href="#${name}"]`);
    if (name === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  fill(byId("access"));
  await VIEWS[chosen]();
}

/** Shows where to begin, or what stands in the way. */
async function greet() {
  try {
    const [stats, sample, recent] = await Promise.all([
      call("GET", "stats"),
      call("GET", `documents?${new URLSearchParams({ uri: SAMPLE })}`),
      call("GET", "documents?limit=3"),
    ]);
    const state = { documents: stats.documents, hasSamples: sample.documents.length > 0, recent: recent.documents };
    if (!hasSearched()) fill(byId("answer"), welcome(state, ask));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    fill(byId("access"), error.wantsKey ? keyMessage(error, hasKey()) : problemMessage(error));
  }
}

function ask(query, controls) {
  form.reset();
  form.elements.query.value = query;
  for (const [name, value] of Object.entries(controls)) form.elements[name].value = value;
  optionsChanged();
  search();
}

function optionsChanged() {
  adaptToDepth(form, byId("depth-note"));
  const changed = changedCount(form);
  byId("options-changed").textContent = changed ? `${changed} changed` : "";
  byId("options-changed").hidden = !changed;
}

function keyChanged(event) {
  setKey(event.target.value);
  byId("key-state").textContent = hasKey() ? "set" : "none";
}

async function keyEntered() {
  await showView();
  if (!byId("access").childElementCount && hasKey()) {
    byId("key-menu").open = false;
    form.elements.query.focus();
  }
  if (hasSearched()) await search();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
for (const control of form.elements) control.addEventListener("change", optionsChanged);
byId("options-reset").addEventListener("click", () => {
  const query = form.elements.query.value;
  form.reset();
  form.elements.query.value = query;
  optionsChanged();
});
byId("key").addEventListener("input", keyChanged);
byId("key").addEventListener("change", keyEntered);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") byId("key-menu").open = false;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  event.preventDefault();
  location.hash = "#search";
  form.elements.query.focus();
  form.elements.query.select();
});
window.addEventListener("hashchange", showView);

byId("options").open = matchMedia("(min-width: 60rem)").matches;
form.reset();
optionsChanged();
acceptFiles();
showView();
