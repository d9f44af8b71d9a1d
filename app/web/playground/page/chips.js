// Shows the filters of a form, each as a button that takes it back.

import { el } from "./dom.js";
import { choose, chosenValues, setFields, valueText } from "./filters.js";

/** The chips of the filters that a form holds. */
export function filterChips(form) {
  const json = form.elements.filters?.value.trim();
  const written = json ? [{ label: "filter as JSON", control: form.elements.filters, value: json }] : [];
  const values = [...chosenValues(form)].flatMap(([key, chosen]) => chosen.map((value) => chip(form, key, valueText(value), () => choose(form, key, value, false))));
  return [...values, ...[...setFields(form), ...written].map(({ label, control, value }) => chip(form, label, value, () => emptied(control)))];
}

function emptied(control) {
  control.value = "";
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

function chip(form, name, value, remove) {
  const removed = () => {
    remove();
    form.elements.query.focus();
  };
  const label = `Remove the filter ${name}: ${value}`;
  return el("li", {}, el("button", { type: "button", class: "chip", "aria-label": label, click: removed }, el("span", { dir: "auto" }, `${name}: `, el("strong", {}, value)), el("span", { "aria-hidden": "true" }, "✕")));
}
