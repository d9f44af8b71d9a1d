// Reads the controls that select documents into the filters of a request.

import { Problem } from "./api.js";

// The label of each control, and the filters that its value stands for.
const fields = new Map();
addFilter("created_after", "created from", (day) => ({ created_after: `${day}T00:00:00Z` }));
addFilter("created_before", "created before", (day) => ({ created_before: `${day}T00:00:00Z` }));
addFilter("folder", "folder", (folder) => ({ folder }));
addFilter("file_types", "file types", (text) => ({ file_types: fileTypes(text) }));

/** Adds a control by its name; `read` makes filters of its value. */
export function addFilter(name, label, read) {
  fields.set(name, { label, read });
}

/** The controls of a form that are set, each with its label and its value. A form need not have all controls. */
export function setFields(form) {
  return [...fields]
    .map(([name, field]) => ({ ...field, control: form.elements[name], value: form.elements[name]?.value.trim() }))
    .filter(({ value }) => value);
}

/** The filters of a form, or null. `without` is a facet whose chosen values are left out. Throws Problem. */
export function readFilters(form, without = {}) {
  const simple = {};
  const metadata = [...chosenValues(form)].filter(([key]) => key !== without.key);
  if (metadata.length) simple.metadata = Object.fromEntries(metadata.map(([key, values]) => [key, { in: values }]));
  for (const { control, read, value } of setFields(form)) if (control.name !== without.control) Object.assign(simple, read(value));
  const written = readJson(form.elements.filters?.value ?? "");
  if (!Object.keys(simple).length) return written;
  return written ? { all: [simple, written] } : simple;
}

/** A map of the chosen values of metadata by key; what an address holds instead of that is ignored. */
export function chosenValues(form) {
  const value = parsed(form.elements.metadata.value);
  if (value === null || typeof value !== "object") return new Map();
  return new Map(Object.entries(value).filter(([, values]) => Array.isArray(values) && values.length));
}

/** The file types that a text names. */
export function fileTypes(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** Chooses a value of a key, or takes it back. */
export function choose(form, key, value, isChosen) {
  const chosen = chosenValues(form);
  const others = (chosen.get(key) ?? []).filter((one) => one !== value);
  if (isChosen) chosen.set(key, [...others, value]);
  else if (others.length) chosen.set(key, others);
  else chosen.delete(key);
  form.elements.metadata.value = chosen.size ? JSON.stringify(Object.fromEntries(chosen)) : "";
  form.elements.metadata.dispatchEvent(new Event("change", { bubbles: true }));
}

/** A value of metadata as people read it. */
export function valueText(value) {
  return typeof value === "string" ? value || "(empty)" : JSON.stringify(value);
}

function readJson(text) {
  if (!text.trim()) return null;
  const value = parsed(text);
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw Problem.of("filters", 'The filter must be a JSON object, such as {"metadata": {"tags": "howto"}}.');
  }
  return value;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
