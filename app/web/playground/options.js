// Reads the controls of a search into the body of a request.

const REFUSED_BY_HOPS = ["min_relevance"];
const PLAIN = { depth: "fast", mode: "auto", fusion: "auto", hierarchy: "auto", rerank: "none" };

/** A control whose value cannot be sent. */
export class BadControl extends Error {
  constructor(name, message) {
    super(message);
    this.field = name;
  }
}

/** The body of a request: the fields that differ from their defaults, and what the page needs. Throws BadControl. */
export function readRequest(form) {
  const controls = form.elements;
  const request = { query: controls.query.value };
  for (const [name, normal] of Object.entries(PLAIN)) {
    const control = controls[name];
    if (control.value !== normal && !control.disabled) request[name] = control.value;
  }
  if (controls.recency.value !== "off") request.recency = controls.recency.value === "auto" ? "auto" : {};
  request.limit = wholeNumber(controls.limit);
  if (isOn(controls.mmr)) request.mmr = true;
  if (!controls.boost.checked) request.boost = false;
  if (controls.group_by.checked) request.group_by = "document";
  if (controls.collapse.checked) request.collapse = "duplicates";
  if (controls.min_relevance.value && !controls.min_relevance.disabled) request.min_relevance = Number(controls.min_relevance.value);
  const filters = readFilters(controls);
  if (filters) request.filters = filters;
  return { ...request, snippets: true, explain: true };
}

/** How many controls differ from their defaults, the query aside. */
export function changedCount(form) {
  const { query, limit, collapse, snippets, explain, filters, ...rest } = safely(() => readRequest(form)) ?? { limit: 5, collapse: "duplicates" };
  const filterFields = ["team", "author", "created_after", "created_before", "filters"];
  return Object.keys(rest).length + (limit !== 5) + (collapse === undefined) + filterFields.filter((name) => form.elements[name].value.trim()).length;
}

/** Disables the controls that several hops refuse. */
export function adaptToDepth(form, note) {
  const hops = form.elements.depth.value === "thorough";
  for (const name of REFUSED_BY_HOPS) form.elements[name].disabled = hops;
  note.hidden = !hops;
}

/** Marks the controls that a Problem names, and opens the panel that holds them. */
export function markInvalid(form, fields, panel) {
  for (const control of form.elements) control.removeAttribute("aria-invalid");
  for (const field of fields) {
    const name = field.split(/[.[]/)[0];
    const control = form.elements[name];
    if (!control?.setAttribute) continue;
    control.setAttribute("aria-invalid", "true");
    if (name !== "query") panel.open = true;
  }
}

function readFilters(controls) {
  const metadata = {};
  for (const name of ["team", "author"]) {
    const value = controls[name].value.trim();
    if (value) metadata[name] = value;
  }
  const simple = Object.keys(metadata).length ? { metadata } : {};
  for (const name of ["created_after", "created_before"]) {
    if (controls[name].value) simple[name] = `${controls[name].value}T00:00:00Z`;
  }
  const written = readJson(controls.filters.value);
  if (!Object.keys(simple).length) return written;
  return written ? { all: [simple, written] } : simple;
}

function readJson(text) {
  if (!text.trim()) return null;
  const value = safely(() => JSON.parse(text));
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new BadControl("filters", 'The filter must be a JSON object, such as {"metadata": {"tags": "howto"}}.');
  }
  return value;
}

function wholeNumber(control) {
  const value = Number(control.value);
  if (!Number.isInteger(value) || value < 1) throw new BadControl(control.name, "Type a whole number from 1 to 50.");
  return value;
}

function isOn(control) {
  return control.checked && !control.disabled;
}

function safely(make) {
  try {
    return make();
  } catch {
    return null;
  }
}
