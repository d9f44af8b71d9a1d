// Reads the controls of a search into the body of a request.

import { Problem } from "../page/api.js";
import { byId } from "../page/dom.js";
import { chosenValues, readFilters } from "../page/filters.js";

const REFUSED_BY_HOPS = ["min_relevance"];
const RECENCY = { auto: "auto", newer: {} };
const RANKING = ["mode", "fusion", "guidance", "boost", "rerank", "recency", "min_relevance", "mmr", "group", "collapse"];

/** The body of a request: the fields that differ from the defaults of the API. Throws Problem. */
export function readRequest(form) {
  const controls = form.elements;
  const request = { query: controls.query.value, limit: wholeNumber(controls.limit) };
  const filters = readFilters(form);
  if (filters) request.filters = filters;
  if (controls.mode.value !== "auto") request.mode = controls.mode.value;
  if (controls.depth.value !== "fast") request.depth = controls.depth.value;
  request.detail = "compact";
  if (!controls.collapse.checked) request.collapse = "off";
  const ranking = readRanking(controls);
  if (Object.keys(ranking).length) request.ranking = ranking;
  return request;
}

function readRanking(controls) {
  const ranking = {};
  if (controls.fusion.value !== "auto") ranking.fusion = controls.fusion.value;
  const guidance = {};
  if (controls.guidance.value !== "auto") guidance.mode = controls.guidance.value;
  if (!controls.boost.checked) guidance.boost = false;
  if (Object.keys(guidance).length) ranking.guidance = guidance;
  if (controls.mmr.checked) ranking.mmr = true;
  if (controls.rerank.value !== "none") ranking.rerank = controls.rerank.value;
  if (controls.recency.value !== "off") ranking.recency = RECENCY[controls.recency.value];
  if (controls.min_relevance.value && !controls.min_relevance.disabled) ranking.min_relevance = Number(controls.min_relevance.value);
  if (controls.group.checked) ranking.group = { by: "document" };
  return ranking;
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
    const control = form.elements[field.replace(/^ranking\./, "").split(/[.[]/)[0]];
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
  if (!Number.isInteger(value) || value < 1) throw Problem.of(control.name, "Type a whole number from 1 to 50.");
  return value;
}
