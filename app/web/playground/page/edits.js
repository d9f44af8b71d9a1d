// Keeps what is typed into a form until it is saved or discarded, so that it is there again when the form is.

// The values that differ from what is saved, by what a form edits, and the version that they began with.
const kept = new Map();

addEventListener("beforeunload", (event) => kept.size && event.preventDefault());

/** Keeps the edits of a form, which holds `version` of what it edits, and restores earlier ones; returns the version that they began with. */
export function keepEdits(form, key, version = null) {
  const saved = valuesOf(form);
  const { values = {}, began = version } = kept.get(key) ?? {};
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.oninput = () => {
    const edited = Object.entries(valuesOf(form)).filter(([name, value]) => value !== saved[name]);
    if (edited.length) kept.set(key, { values: Object.fromEntries(edited), began });
    else kept.delete(key);
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
