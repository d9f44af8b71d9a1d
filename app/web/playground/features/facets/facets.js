// Shows the keys of the documents' metadata with their values and numbers of documents, to filter a search by them.

import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { choose, chosenValues, readFilters, valueText } from "../../page/filters.js";
import { addPart, addStyle } from "../../page/parts.js";
import "./document_facets.js";

const VALUES = 8;
const FOUND = 20;
const KEYS = 10;
const keys = el("div");
const place = el("div", { id: "facets", role: "group", "aria-label": "Metadata", hidden: true }, keys);
const order = [];
let isComplete = false;
let running = null;
let drawn = null;

byId("search-form").elements.metadata.after(place);
addStyle("./facets.css", import.meta.url);
addPart("options", showFacets);

/** Shows the facets of the documents that pass the filters; a key's own values do not reduce its numbers. */
async function showFacets(form) {
  const own = { controller: new AbortController() };
  try {
    own.filters = JSON.stringify(readFilters(form));
    if (own.filters === running?.filters) return;
    running?.controller.abort();
    running = own;
    draw(form, await load(form, own.controller.signal));
  } catch (error) {
    if (error.name === "AbortError") return;
    // Searching works without facets, and the answer says what is wrong with the key or a filter.
    if (!(error instanceof Problem)) throw error;
    place.hidden = true;
    drawn = null;
  } finally {
    if (running === own) running = null;
  }
}

async function load(form, signal) {
  const chosen = [...chosenValues(form).keys()];
  const [all, ...alone] = await Promise.all([
    counted({ limit: VALUES, filters: readFilters(form) }, signal),
    ...chosen.map((key) => counted({ key, limit: VALUES, filters: readFilters(form, key) }, signal)),
  ]);
  const found = new Map([...alone.flat(), ...all.filter(({ key }) => !chosen.includes(key))].map((facet) => [facet.key, facet]));
  for (const key of chosen) if (!found.has(key)) found.set(key, { key, documents: 0, distinct: 0, values: [] });
  return inOrder([...found.values()].filter(({ key, values }) => values.length || chosen.includes(key)));
}

/** Keys in the order in which they were shown first, so that none moves while filters change; unique ones last. */
function inOrder(facets) {
  const added = facets.filter(({ key }) => !order.includes(key)).sort((one, other) => isUnique(one) - isUnique(other));
  order.push(...added.map(({ key }) => key));
  return facets.sort((one, other) => order.indexOf(one.key) - order.indexOf(other.key));
}

/** Whether most values are those of one document, such as names of files: rarely what a search is filtered by. */
function isUnique({ documents, distinct }) {
  return distinct > 0.6 * documents;
}

async function counted({ filters, ...parameters }, signal) {
  const given = filters ? { ...parameters, filters: JSON.stringify(filters) } : parameters;
  return (await call("GET", `facets?${new URLSearchParams(given)}`, { signal })).facets;
}

function draw(form, facets) {
  const state = JSON.stringify([facets, [...chosenValues(form)], isComplete]);
  if (state === drawn) return;
  drawn = state;
  const focused = document.activeElement?.dataset?.facet;
  const open = new Set([...place.querySelectorAll(".facet[open]")].map((details) => details.dataset.key));
  const shown = isComplete ? facets : facets.slice(0, Math.max(KEYS, chosenValues(form).size));
  const rest = facets.length - shown.length;
  const all = () => {
    isComplete = true;
    draw(form, facets);
  };
  const more = rest ? el("button", { type: "button", class: "quiet", click: all }, rest === 1 ? "1 more key" : `${rest} more keys`) : null;
  place.hidden = !facets.length;
  fill(keys, shown.map((facet) => keyItem(form, facet, open.has(facet.key))), more);
  // The boxes are new, so the one that was used gets the focus again.
  if (focused) [...place.querySelectorAll("[data-facet]")].find((box) => box.dataset.facet === focused)?.focus();
}

function keyItem(form, facet, isOpen) {
  const { key } = facet;
  const chosen = chosenValues(form).get(key) ?? [];
  const list = el("ul", { class: "facet-values" }, boxes(form, facet, chosen));
  const many = facet.distinct > facet.values.length;
  const note = chosen.length ? el("span", { class: "count" }, `${chosen.length} chosen`) : el("span", { class: "note" }, facet.distinct.toLocaleString("en"));
  return el(
    "details",
    { class: "facet", "data-key": key, open: isOpen || chosen.length > 0 },
    el("summary", {}, el("span", { dir: "auto" }, key), " ", note),
    many ? finder(form, facet, list) : null,
    list,
  );
}

function boxes(form, { key, values }, chosen) {
  const counts = new Map(values.map(({ value, documents }) => [value, documents]));
  const shown = [...chosen, ...values.map(({ value }) => value).filter((value) => !chosen.includes(value))];
  return shown.map((value) => {
    const change = (event) => choose(form, key, value, event.target.checked);
    const box = el("input", { type: "checkbox", checked: chosen.includes(value), "data-facet": JSON.stringify([key, value]), change });
    const documents = counts.has(value) ? counts.get(value).toLocaleString("en") : "";
    return el("li", {}, el("label", { class: "check" }, box, el("span", { dir: "auto" }, valueText(value)), el("span", { class: "note" }, documents)));
  });
}

/** A field that lists the values that begin with what is typed. */
function finder(form, facet, list) {
  const find = async (event) => {
    const prefix = event.target.value;
    const [found] = await counted({ key: facet.key, prefix, limit: FOUND, filters: readFilters(form, facet.key) });
    if (event.target.value === prefix) fill(list, boxes(form, found ?? { ...facet, values: [] }, chosenValues(form).get(facet.key) ?? []));
  };
  return el("input", { type: "search", maxlength: "200", "aria-label": `Find a value of ${facet.key}`, placeholder: "Find a value", dir: "auto", input: find, "data-facet": JSON.stringify([facet.key]) });
}
