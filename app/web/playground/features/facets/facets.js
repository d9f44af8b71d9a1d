// Shows the keys of the documents' metadata with their values and numbers of documents, to filter searches and documents by them.

import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { choose, chosenValues, readFilters, valueText } from "../../page/filters.js";
import { addPart, addStyle } from "../../page/parts.js";

const VALUES = 8;
const FOUND = 20;
const KEYS = 10;

/** The facets of the documents that pass the filters of a form; a key's own values do not reduce its numbers. */
class Facets {
  #order = [];
  #shared = new Set();
  #isComplete = false;
  #running = null;
  #drawn = null;

  constructor(form) {
    this.form = form;
    this.place = el("div", { class: "facets", role: "group", "aria-label": "Metadata", hidden: true });
  }

  async show() {
    const own = { controller: new AbortController() };
    try {
      own.filters = JSON.stringify(readFilters(this.form));
      if (own.filters === this.#running?.filters) return;
      this.#running?.controller.abort();
      this.#running = own;
      this.#draw(await this.#load(own.controller.signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      // The page works without facets, and its list or answer says what is wrong with the key or a filter.
      if (!(error instanceof Problem)) throw error;
      this.place.hidden = true;
      this.#drawn = null;
    } finally {
      if (this.#running === own) this.#running = null;
    }
  }

  async #load(signal) {
    const chosen = [...chosenValues(this.form).keys()];
    const [all, ...alone] = await Promise.all([
      counted({ limit: VALUES, filters: readFilters(this.form) }, signal),
      ...chosen.map((key) => counted({ key, limit: VALUES, filters: readFilters(this.form, key) }, signal)),
    ]);
    const found = new Map([...alone.flat(), ...all.filter(({ key }) => !chosen.includes(key))].map((facet) => [facet.key, facet]));
    for (const key of chosen) if (!found.has(key)) found.set(key, { key, documents: 0, distinct: 0, values: [] });
    return this.#inOrder([...found.values()].filter(({ key, values }) => values.length || chosen.includes(key)));
  }

  /** Those of few values first; keys stay in the order in which they were shown first, so that none moves while filters change. */
  #inOrder(facets) {
    const added = facets.filter(({ key }) => !this.#order.includes(key)).sort((one, other) => one.distinct - other.distinct);
    for (const facet of added) if (isShared(facet)) this.#shared.add(facet.key);
    this.#order.push(...added.map(({ key }) => key));
    const rank = ({ key }) => this.#order.indexOf(key) + (this.#shared.has(key) ? 0 : this.#order.length);
    return facets.sort((one, other) => rank(one) - rank(other));
  }

  #draw(facets) {
    const chosen = chosenValues(this.form);
    const state = JSON.stringify([facets, [...chosen], this.#isComplete]);
    if (state === this.#drawn) return;
    this.#drawn = state;
    const focused = document.activeElement?.dataset?.facet;
    const open = new Set([...this.place.querySelectorAll(".facet[open]")].map((details) => details.dataset.key));
    const first = facets.filter(({ key }) => this.#shared.has(key)).slice(0, KEYS);
    const shown = this.#isComplete ? facets : facets.filter((facet) => first.includes(facet) || chosen.has(facet.key));
    const rest = facets.length - shown.length;
    const all = () => {
      this.#isComplete = true;
      this.#draw(facets);
    };
    const more = rest ? el("button", { type: "button", class: "quiet", click: all }, rest === 1 ? "1 more key" : `${rest} more keys`) : null;
    this.place.hidden = !facets.length;
    fill(this.place, shown.map((facet) => keyItem(this.form, facet, open.has(facet.key))), more);
    // The boxes are new, so the one that was used gets the focus again.
    if (focused) [...this.place.querySelectorAll("[data-facet]")].find((box) => box.dataset.facet === focused)?.focus();
  }
}

/** Whether documents share values, as they do not with names of files: a search is rarely filtered by one of those. */
function isShared({ values }) {
  return values.reduce((sum, { documents }) => sum + documents, 0) >= 1.5 * values.length;
}

async function counted({ filters, ...parameters }, signal) {
  const given = filters ? { ...parameters, filters: JSON.stringify(filters) } : parameters;
  return (await call("GET", `facets?${new URLSearchParams(given)}`, { signal })).facets;
}

function keyItem(form, facet, isOpen) {
  const { key } = facet;
  const chosen = chosenValues(form).get(key) ?? [];
  const list = el("ul", { class: "facet-values" }, boxes(form, facet, chosen));
  const many = facet.distinct > facet.values.length;
  const note = chosen.length ? el("span", { class: "count" }, `${chosen.length} chosen`) : el("span", { class: "note" }, facet.documents.toLocaleString("en"));
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

const [searches, documents] = ["search-form", "documents-form"].map((id) => new Facets(byId(id)));
searches.form.elements.metadata.after(searches.place);
documents.form.elements.file_types.parentElement.after(documents.place);
addStyle("./facets.css", import.meta.url);
addPart("options", () => searches.show());
addPart("documents", () => documents.show());
