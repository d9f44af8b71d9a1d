// Reads the controls that select documents into the filters of a request.

import { Problem } from "./api.js";

const DATES = ["created_after", "created_before"];

/** The filters of a form, which need not have all controls, or null. `without` is a key of metadata whose chosen values are left out. Throws Problem. */
export function readFilters(form, without = null) {
  const controls = form.elements;
  const simple = {};
  const metadata = [...chosenValues(form)].filter(([key]) => key !== without);
  if (metadata.length) simple.metadata = Object.fromEntries(metadata.map(([key, values]) => [key, { in: values }]));
  for (const name of DATES) if (controls[name]?.value) simple[name] = `${controls[name].value}T00:00:00Z`;
  if (controls.source.value.trim()) simple.source_names = [controls.source.value.trim()];
  if (controls.folder.value.trim()) simple.folder = controls.folder.value.trim();
  const types = controls.file_types.value.split(/[\s,]+/).filter(Boolean);
  if (types.length) simple.file_types = types;
  const written = readJson(controls.filters?.value ?? "");
  if (!Object.keys(simple).length) return written;
  return written ? { all: [simple, written] } : simple;
}

/** A map of the chosen values of metadata by key; what an address holds instead of that is ignored. */
export function chosenValues(form) {
  const value = parsed(form.elements.metadata.value);
  if (value === null || typeof value !== "object") return new Map();
  return new Map(Object.entries(value).filter(([, values]) => Array.isArray(values) && values.length));
}

/** Chooses a value of a key, or takes it back. */
export function choose(form, key, value, isChosen) {
  const chosen = chosenValues(form);
  const others = (chosen.get(key) ?? []).filter((one) => one !== value);
  if (isChosen) chosen.set(key, [...others, value]);
  else if (others.length) chosen.set(key, others);
  else chosen.delete(key);
  form.elements.metadata.value = chosen.size ? JSON.stringify(Object.fromEntries(chosen)) : "";
  form.elements.metadata.dispatchEvent(new Event("change"));
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
