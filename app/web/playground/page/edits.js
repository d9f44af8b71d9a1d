// Keeps what is typed into a form until it is saved or discarded, so that it is there again when the form is.

// The values of forms with unsaved edits, by what they edit, and the version that they began with.
const kept = new Map();

addEventListener("beforeunload", (event) => kept.size && event.preventDefault());

/** Keeps the edits of a form, which holds `version` of what it edits, and restores earlier ones; returns the version that they began with. */
export function keepEdits(form, key, version = null) {
  const saved = JSON.stringify(valuesOf(form));
  const { values = {}, began = version } = kept.get(key) ?? {};
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.oninput = () => {
    const edited = valuesOf(form);
    if (JSON.stringify(edited) === saved) kept.delete(key);
    else kept.set(key, { values: edited, began });
  };
  return began;
}

/** Whether there are unsaved edits of this. */
export function hasEdits(key) {
  return kept.has(key);
}

/** Forgets edits that were saved or discarded. */
export function forgetEdits(key) {
  kept.delete(key);
}

function valuesOf(form) {
  return Object.fromEntries([...form.elements].filter(({ name }) => name).map(({ name, value }) => [name, value]));
}
