// Shows the filters of a search above its answer, each as a button that takes it back.

import { byId, el, fill } from "./dom.js";
import { valueText } from "../search/facets.js";
import { choose, chosenValues } from "./filters.js";

const LABELS = {
  created_after: "created from",
  created_before: "created before",
  folder: "folder",
  source: "source",
  file_types: "file types",
  filters: "filter as JSON",
};

/** Shows the filters that a form holds. */
export function showChips(form) {
  const fields = Object.keys(LABELS)
    .filter((name) => form.elements[name].value.trim())
    .map((name) => chip(form, LABELS[name], form.elements[name].value.trim(), () => emptied(form.elements[name])));
  fill(byId("chosen"), ...valueChips(form), ...fields);
}

/** The chosen values of metadata of a form, each as a button that takes it back. */
export function valueChips(form) {
  return [...chosenValues(form)].flatMap(([key, chosen]) =>
    chosen.map((value) => chip(form, key, valueText(value), () => choose(form, key, value, false))),
  );
}

function emptied(control) {
  control.value = "";
  control.dispatchEvent(new Event("change"));
}

function chip(form, name, value, remove) {
  const removed = () => {
    remove();
    form.elements.query.focus();
  };
  const label = `Remove the filter ${name}: ${value}`;
  return el("li", {}, el("button", { type: "button", class: "chip", "aria-label": label, click: removed }, el("span", { dir: "auto" }, `${name}: `, el("strong", {}, value)), el("span", { "aria-hidden": "true" }, "✕")));
}
