// Reads the controls of a search into the body of a request.

import { Problem } from "../page/api.js";
import { byId } from "../page/dom.js";
import { chosenValues, readFilters } from "../page/filters.js";
import { changedValues } from "../page/forms.js";

const RECENCY = { auto: "auto", newer: {} };
const RANKING = ["mode", "guidance", "rerank", "recency", "min_relevance", "group", "collapse"];

/** The body of a request: the fields that differ from the defaults of the API. Throws Problem. */
export function readRequest(form) {
  const { query, limit, depth, min_relevance: minimum } = form.elements;
  const changed = changedValues(form);
  const ranking = {
    guidance: changed.guidance && { mode: changed.guidance },
    rerank: changed.rerank,
    recency: RECENCY[changed.recency],
    min_relevance: minimum.value && !minimum.disabled ? Number(minimum.value) : undefined,
    group: changed.group && { by: "document" },
  };
  return given({
    query: query.value,
    limit: wholeNumber(limit),
    filters: readFilters(form) ?? undefined,
    mode: changed.mode,
    depth: depth.value === "fast" ? undefined : depth.value,
    detail: "compact",
    collapse: changed.collapse,
    ranking: given(ranking),
  });
}

/** The fields that have a value, or undefined without any. */
function given(fields) {
  const some = Object.entries(fields).filter(([, value]) => value !== undefined);
  return some.length ? Object.fromEntries(some) : undefined;
}

/** Shows how many controls differ from their defaults, of all and of those that are folded away. */
export function showChanged(form, { query, metadata, ...changed }) {
  const names = [...Object.keys(changed), ...chosenValues(form).keys()];
  count(byId("options-changed"), names.length);
  count(byId("ranking-changed"), names.filter((name) => RANKING.includes(name) && name in changed).length);
}

/** Disables the control that a multi-hop search refuses. */
export function adaptToDepth(form) {
  const hops = form.elements.depth.value === "thorough";
  form.elements.min_relevance.disabled = hops;
  byId("depth-note").hidden = !hops;
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
