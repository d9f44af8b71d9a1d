// Reads the controls of a search into the body of a request.

import { BadControl } from "../page/bad_control.js";
import { byId } from "../page/dom.js";
import { chosenValues, readFilters } from "../page/filters.js";

const REFUSED_BY_HOPS = ["min_relevance"];
const DEFAULTS = { depth: "fast", mode: "auto", fusion: "auto", hierarchy: "auto", rerank: "none" };
const RANKING = ["mode", "fusion", "hierarchy", "rerank", "recency", "min_relevance", "mmr", "boost", "group_by", "collapse"];

/** The body of a request: the fields that differ from the defaults of the API, and what the page needs. Throws BadControl. */
export function readRequest(form) {
  const controls = form.elements;
  const request = { query: controls.query.value };
  for (const [name, normal] of Object.entries(DEFAULTS)) if (controls[name].value !== normal) request[name] = controls[name].value;
  if (controls.recency.value !== "off") request.recency = controls.recency.value === "auto" ? "auto" : {};
  request.limit = wholeNumber(controls.limit);
  if (controls.mmr.checked) request.mmr = true;
  if (!controls.boost.checked) request.boost = false;
  if (controls.group_by.checked) request.group_by = "document";
  if (controls.collapse.checked) request.collapse = "duplicates";
  if (controls.min_relevance.value && !controls.min_relevance.disabled) request.min_relevance = Number(controls.min_relevance.value);
  const filters = readFilters(form);
  if (filters) request.filters = filters;
  return { ...request, snippets: true, explain: true };
}

/** Shows how many controls differ from their defaults, of all and of those that are folded away. */
export function showChanged(form, { query, metadata, ...changed }) {
  const names = [...Object.keys(changed), ...chosenValues(form).keys()];
  count(byId("options-changed"), names.length);
  count(byId("ranking-changed"), names.filter((name) => RANKING.includes(name) && name in changed).length);
}

/** Disables the controls that a multi-hop search refuses. */
export function adaptToDepth(form, note) {
  const hops = form.elements.depth.value === "thorough";
  for (const name of REFUSED_BY_HOPS) form.elements[name].disabled = hops;
  note.hidden = !hops;
}

/** Marks the controls that a Problem names, and opens the panels that hold them. */
export function markInvalid(form, fields) {
  for (const control of form.elements) control.removeAttribute("aria-invalid");
  for (const field of fields) {
    const control = form.elements[field.split(/[.[]/)[0]];
    if (!control?.setAttribute) continue;
    control.setAttribute("aria-invalid", "true");
    for (let panel = control.closest("details"); panel; panel = panel.parentElement.closest("details")) panel.open = true;
  }
}

function count(place, number) {
  place.textContent = number ? `${number} changed` : "";
  place.hidden = !number;
}

function wholeNumber(control) {
  const value = Number(control.value);
  if (!Number.isInteger(value) || value < 1) throw new BadControl(control.name, "Type a whole number from 1 to 50.");
  return value;
}
