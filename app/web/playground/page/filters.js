// Reads the controls that select documents into the filters of a request, and shows each filter as a button that takes it back.

import { Problem, parsed } from "./api.js";
import { el } from "./dom.js";

// The label of each control, and the filters that its value stands for.
const fields = new Map([
  ["created_after", { label: "created from", read: (day) => ({ created_after: `${day}T00:00:00Z` }) }],
  ["created_before", { label: "created before", read: (day) => ({ created_before: `${day}T00:00:00Z` }) }],
  ["folder", { label: "folder", read: (folder) => ({ folder }) }],
  ["file_types", { label: "file types", read: (text) => ({ file_types: fileTypes(text) }) }],
]);

/** The filters of a form, which need not have all controls, or null. `without` is a facet whose values are left out. Throws Problem. */
export function readFilters(form, without = {}) {
  const simple = {};
  const metadata = [...chosenValues(form)].filter(([key]) => key !== without.key);
  if (metadata.length) simple.metadata = Object.fromEntries(metadata.map(([key, values]) => [key, { in: values }]));
  for (const { control, read } of setFields(form)) if (control.name !== without.control) Object.assign(simple, read(control.value.trim()));
  const text = form.elements.filters?.value.trim();
  const written = text ? readObject(text, "filters", 'The filter must be a JSON object, such as {"metadata": {"tags": "howto"}}.') : null;
  if (!Object.keys(simple).length) return written;
  return written ? { all: [simple, written] } : simple;
}

/** The buttons that take back the filters of a form. */
export function filterChips(form) {
  const values = [...chosenValues(form)].flatMap(([key, chosen]) => chosen.map((value) => chip(form, key, valueText(value), () => choose(form, key, value, false))));
  const { filters } = form.elements;
  const controls = [...setFields(form), ...(filters?.value.trim() ? [{ label: "filter as JSON", control: filters }] : [])];
  return [...values, ...controls.map(({ label, control }) => chip(form, label, control.value.trim(), () => setControl(control, "")))];
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
  chosen.set(key, isChosen ? [...others, value] : others);
  const given = [...chosen].filter(([, values]) => values.length);
  setControl(form.elements.metadata, given.length ? JSON.stringify(Object.fromEntries(given)) : "");
}

/** Sets a control as if it was typed. */
export function setControl(control, value) {
  control.value = value;
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

/** The file types that a text names. */
export function fileTypes(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** A value of metadata as people read it. */
export function valueText(value) {
  return typeof value === "string" ? value || "(empty)" : JSON.stringify(value);
}

/** The object that a text has as JSON. Throws Problem. */
export function readObject(text, field, message) {
  const value = parsed(text);
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw Problem.of(field, message);
}

function setFields(form) {
  const controls = [...fields].map(([name, field]) => ({ ...field, control: form.elements[name] }));
  return controls.filter(({ control }) => control?.value.trim());
}

function chip(form, name, value, remove) {
  const click = () => {
    remove();
    form.elements.query.focus();
  };
  const text = el("span", { dir: "auto" }, `${name}: `, el("strong", { dir: "auto" }, value));
  return el("li", {}, el("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${name}: ${value}`, click }, text, el("span", { "aria-hidden": "true" }, "✕")));
}
