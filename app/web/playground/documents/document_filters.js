// Reads the controls above the list of documents, and fills those whose choices depend on what is stored.

import { call } from "../page/api.js";
import { el, fill } from "../page/dom.js";
import { valueText } from "../search/facets.js";
import { choose, readFilters } from "../page/filters.js";

const NAMES = ["query", "sort", "source", "folder", "file_types", "metadata"];

/** What the controls select, by the names that the address has; only those that are set. */
export function selected(form) {
  const values = NAMES.map((name) => [name, form.elements[name].value.trim()]);
  return Object.fromEntries(values.filter(([name, value]) => value && !(name === "sort" && value === "newest")));
}

/** Sets the controls as an address has them. */
export function showSelected(form, parameters) {
  for (const name of NAMES) setValue(form.elements[name], parameters.get(name) ?? (name === "sort" ? "newest" : ""));
}

/** The parameters of GET /documents for what is selected. */
export function listed(form) {
  const { query, sort } = selected(form);
  const filters = readFilters(form);
  const parameters = { query, sort, filters: filters ? JSON.stringify(filters) : undefined };
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value));
}

/** Whether anything but the order is selected. */
export function isNarrowed({ sort, ...given }) {
  return Object.keys(given).length > 0;
}

/** Fills the choices of sources and of keys of metadata. */
export async function offerChoices(form) {
  const [{ sources }, { facets }] = await Promise.all([call("GET", "sources?limit=200"), call("GET", "facets?limit=0")]);
  offer(form.elements.source, "Any source", sources.map(({ name }) => [name, name]));
  offer(form.elements.key, "Any metadata", facets.map(({ key, documents }) => [key, counted(key, documents)]));
}

/** Fills the choices of values of the chosen key. */
export async function offerValues(form) {
  const key = form.elements.key.value;
  form.elements.value.disabled = !key;
  const found = key ? (await call("GET", `facets?${new URLSearchParams({ key, limit: 100 })}`)).facets[0] : null;
  offer(form.elements.value, "Choose a value", (found?.values ?? []).map(({ value, documents }) => [JSON.stringify(value), counted(valueText(value), documents)]));
}

/** Adds the chosen value of the chosen key to what is selected. */
export function chooseValue(form) {
  const { key, value } = form.elements;
  const chosen = JSON.parse(value.value);
  value.value = "";
  choose(form, key.value, chosen, true);
}

function setValue(control, value) {
  // A source that an address names is chosen before the choices are known.
  if (control.tagName === "SELECT" && value && ![...control.options].some((option) => option.value === value)) control.append(el("option", { value }, value));
  control.value = value;
}

function offer(select, none, choices) {
  const { value } = select;
  fill(select, el("option", { value: "" }, none), choices.map(([choice, text]) => el("option", { value: choice }, text)));
  setValue(select, value);
}

function counted(text, documents) {
  return `${text} (${documents.toLocaleString("en")})`;
}
