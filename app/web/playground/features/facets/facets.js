// Shows folders, file types and keys of metadata with their values and numbers of documents, to filter searches and documents by them.

import { withParameters } from "../../page/address.js";
import { Problem, call } from "../../page/api.js";
import { amount, byId, el, fill, shownUri } from "../../page/dom.js";
import { choose, chosenValues, fileTypes, readFilters, setControl, valueText } from "../../page/filters.js";
import { guarded } from "../../page/messages.js";
import { addPart } from "../../page/parts.js";

const VALUES = 8;
const FOUND = 20;
const KEYS = 10;

/** The facets of the documents that pass the filters of a form; a key's own values do not reduce its numbers. */
class Facets {
  // Whether documents share the values of a key, by key in the order in which they were shown first.
  #known = new Map();
  #isComplete = false;
  #asked = null;
  #drawn = null;

  constructor(form) {
    this.form = form;
    this.place = el("div", { class: "facets columns", "data-stored": "", role: "group", "aria-label": "Folders, types and metadata", hidden: true });
  }

  async show() {
    const own = {};
    try {
      own.filters = JSON.stringify(readFilters(this.form));
      if (own.filters === this.#asked?.filters) return;
      this.#asked = own;
      const facets = await this.#load();
      if (this.#asked === own) this.#draw(facets);
    } catch (error) {
      // The page works without facets, and its list or answer says what is wrong with the key or a filter.
      if (!(error instanceof Problem)) throw error;
      if (own.filters && this.#asked !== own) return; // others are shown by now
      this.place.hidden = true;
      this.#drawn = null;
    }
    if (this.#asked === own) this.#asked = null;
  }

  async #load() {
    const all = await allFacets(this.form);
    // A folder is counted below the chosen one; values of others are chosen beside one another.
    const chosen = chosenFacets(this.form);
    const alone = await Promise.all(chosen.filter(({ control }) => control !== "folder").map((facet) => counted(this.form, facet, { limit: VALUES })));
    const found = new Map([...chosen, ...all, ...alone.flat()].map((facet) => [facet.id, facet]));
    const isShown = ({ id, control, values }) => chosen.some((one) => one.id === id) || values.length > (control ? 1 : 0);
    return this.#inOrder([...found.values()].filter(isShown));
  }

  /** Those of few values first; keys stay where they were shown first, so that none moves while filters change. */
  #inOrder(facets) {
    const added = facets.filter(({ id }) => !this.#known.has(id)).sort((one, other) => one.distinct - other.distinct);
    for (const { id, control, values } of added) {
      // Documents do not share names of files: a search is rarely filtered by one of those.
      const isShared = values.reduce((sum, { documents }) => sum + documents, 0) >= 1.5 * values.length;
      this.#known.set(id, Boolean(control) || isShared);
    }
    const order = [...this.#known.keys()];
    const rank = ({ id }) => order.indexOf(id) + (this.#known.get(id) ? 0 : order.length);
    return facets.sort((one, other) => rank(one) - rank(other));
  }

  #draw(facets) {
    const chosen = chosenFacets(this.form).map(({ id }) => id);
    const state = JSON.stringify([facets, facets.map((facet) => chosenOf(this.form, facet)), this.#isComplete]);
    if (state === this.#drawn && this.place.hasChildNodes()) return;
    this.#drawn = state;
    const focused = document.activeElement?.dataset?.facet;
    const open = new Set([...this.place.querySelectorAll(".facet[open]")].map((details) => details.dataset.id));
    const first = facets.filter(({ id }) => this.#known.get(id)).slice(0, KEYS);
    const shown = this.#isComplete ? facets : facets.filter((facet) => first.includes(facet) || chosen.includes(facet.id));
    const rest = facets.length - shown.length;
    const all = () => {
      this.#isComplete = true;
      this.#draw(facets);
      this.place.querySelectorAll("summary")[shown.length]?.focus();
    };
    const more = rest ? el("button", { type: "button", class: "quiet", click: all }, amount(rest, "more key")) : null;
    this.place.hidden = !facets.length;
    fill(this.place, shown.map((facet) => keyItem(this.form, facet, open.has(facet.id))), more);
    // The boxes are new, so the one that was used gets the focus again.
    if (focused) [...this.place.querySelectorAll("[data-facet]")].find((box) => box.dataset.facet === focused)?.focus();
  }
}

const FILES = { folder: { control: "folder", name: "Folder" }, file_type: { control: "file_types", name: "File type" } };

/** A facet of metadata has a key, one of files the control of its filter. */
function facetOf(of, key, counts = { documents: 0, distinct: 0, values: [] }) {
  const place = of === "files" ? FILES[key] : { key, name: key };
  return { ...counts, of, asked: key, id: `${of} ${key}`, key: undefined, ...place };
}

/** The facets of which values are chosen, without their counts. */
function chosenFacets(form) {
  const files = Object.keys(FILES).map((key) => facetOf("files", key));
  return [...[...chosenValues(form).keys()].map((key) => facetOf("metadata", key)), ...files.filter((facet) => chosenOf(form, facet).length)];
}

function chosenOf(form, { key, control }) {
  if (!control) return chosenValues(form).get(key) ?? [];
  const text = form.elements[control]?.value.trim() ?? "";
  return control === "folder" ? [text].filter(Boolean) : fileTypes(text);
}

function chooseOf(form, facet, value, isChosen) {
  if (!facet.control) return choose(form, facet.key, value, isChosen);
  const others = facet.control === "folder" ? [] : chosenOf(form, facet).filter((one) => one !== value);
  setControl(form.elements[facet.control], [...others, ...(isChosen ? [value] : [])].join(", "));
}

/** The facets of metadata, and of files unless they are too many to count in time. */
async function allFacets(form) {
  const late = (error) => (error.status === 504 ? [] : Promise.reject(error));
  const files = counted(form, { of: "files" }, { limit: VALUES }).catch(late);
  return (await Promise.all([files, counted(form, { of: "metadata" }, { limit: VALUES })])).flat();
}

/** The facets of metadata or files, or one of them; the values that are chosen of that one do not reduce its numbers. */
async function counted(form, facet, parameters) {
  const path = withParameters("facets", { of: facet.of, ...parameters, key: facet.asked, filters: readFilters(form, facet) });
  const { facets } = await call("GET", path);
  return facets.map(({ key, ...counts }) => facetOf(facet.of, key, counts));
}

function keyItem(form, facet, isOpen) {
  const chosen = chosenOf(form, facet);
  const list = el("ul", { class: "choices" }, boxes(form, facet, chosen));
  const many = facet.distinct > facet.values.length;
  const note = chosen.length ? el("span", { class: "count" }, `${chosen.length} chosen`) : el("span", { class: "note" }, facet.documents.toLocaleString("en"));
  return el(
    "details",
    { class: "facet", "data-id": facet.id, open: isOpen || chosen.length > 0 },
    el("summary", {}, el("span", { dir: "auto" }, facet.name), " ", note),
    many ? finder(form, facet, list) : null,
    list,
  );
}

function boxes(form, facet, chosen) {
  const counts = new Map(facet.values.map(({ value, documents }) => [value, documents]));
  const shown = [...chosen, ...[...counts.keys()].filter((value) => !chosen.includes(value))];
  return shown.map((value) => {
    const change = (event) => chooseOf(form, facet, value, event.target.checked);
    const box = el("input", { type: "checkbox", checked: chosen.includes(value), "data-facet": JSON.stringify([facet.id, value]), change });
    const text = facet.control === "folder" ? shownUri(value) : valueText(value);
    return el("li", {}, el("label", { class: "check" }, box, el("span", { dir: "auto" }, text), el("span", { class: "note" }, counts.get(value)?.toLocaleString("en") ?? "")));
  });
}

/** A field that lists the values that begin with what is typed, and a place for what goes wrong. */
function finder(form, facet, list) {
  const failed = el("div");
  const find = ({ target }) => guarded(failed, async () => {
    const prefix = target.value;
    const [found] = await counted(form, facet, { prefix, limit: FOUND });
    if (target.value === prefix) fill(list, boxes(form, found ?? { ...facet, values: [] }, chosenOf(form, facet)));
  });
  const input = el("input", { type: "search", maxlength: "200", "aria-label": `Find a value of ${facet.name}`, placeholder: "Find a value", dir: "auto", input: find, "data-facet": JSON.stringify([facet.id]) });
  return [input, failed];
}

const [searches, documents] = ["search-form", "documents-form"].map((id) => new Facets(byId(id)));
searches.form.elements.metadata.after(searches.place);
documents.form.elements.file_types.after(documents.place);
addPart("options", () => searches.show());
addPart("documents", () => documents.show());
