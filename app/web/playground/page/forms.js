// Reads and sets the values of forms, so that an address can hold them, and marks wrong ones.

/** The values by name that differ from their defaults; a box that is ticked or not is `on` or `off`. */
export function changedValues(form) {
  const values = {};
  for (const control of named(form)) {
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
  markInvalid(form, []);
  for (const control of named(form)) {
    const value = parameters.get(control.name);
    const isTaken = value !== null && (control.tagName !== "SELECT" || [...control.options].some((option) => option.value === value));
    if (control.type === "checkbox") control.checked = isTaken ? value === "on" : control.defaultChecked;
    else control.value = isTaken ? value : usual(control);
  }
}

/** Marks the controls that errors of a Problem name, and no others, and opens the panels that hold them. */
export function markInvalid(form, errors) {
  for (const control of form.elements) control.removeAttribute("aria-invalid");
  for (const { field } of errors) {
    const control = form.elements[field.replace(/^ranking\./, "").split(/[.[]/)[0]];
    if (!control?.setAttribute) continue;
    control.setAttribute("aria-invalid", "true");
    for (let panel = control.closest("details"); panel; panel = panel.parentElement.closest("details")) panel.open = true;
  }
}

function named(form) {
  return [...form.elements].filter(({ name }) => name);
}

function usual(control) {
  if (control.tagName !== "SELECT") return control.defaultValue;
  return ([...control.options].find((option) => option.defaultSelected) ?? control.options[0]).value;
}
