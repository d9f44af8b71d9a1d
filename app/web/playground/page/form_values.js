// Reads which values of a form differ from their defaults, and sets them again, so that an address can hold them. Fills selects.

import { el, fill } from "./dom.js";

/** The values by name that differ from their defaults; a box that is ticked or not is `on` or `off`. */
export function changedValues(form) {
  const values = {};
  for (const control of form.elements) {
    if (!control.name) continue;
    if (control.type === "checkbox") {
      if (control.checked !== control.defaultChecked) values[control.name] = control.checked ? "on" : "off";
    } else if (control.value.trim() !== usual(control)) {
      values[control.name] = control.value.trim();
    }
  }
  return values;
}

/** Resets a form, and sets the values of parameters; those that no control takes are ignored. */
export function setValues(form, parameters) {
  form.reset();
  for (const control of form.elements) {
    const value = control.name ? parameters.get(control.name) : null;
    if (value === null) continue;
    if (control.type === "checkbox") control.checked = value === "on";
    else if (control.tagName !== "SELECT" || [...control.options].some((option) => option.value === value)) control.value = value;
  }
}

/** Gives a select its choices, pairs of value and text; what is chosen stays chosen. */
export function offer(select, none, choices) {
  const { value } = select;
  fill(select, el("option", { value: "" }, none), choices.map(([choice, text]) => el("option", { value: choice }, text)));
  setValue(select, value);
}

/** Sets a control. A select may get a value before its choices are known. */
export function setValue(control, value) {
  if (control.tagName === "SELECT" && value && ![...control.options].some((option) => option.value === value)) control.append(el("option", { value }, value));
  control.value = value;
}

function usual(control) {
  if (control.tagName !== "SELECT") return control.defaultValue;
  return ([...control.options].find((option) => option.defaultSelected) ?? control.options[0]).value;
}
