// Forms whose edits are kept until they are saved or discarded, so that they are there again when the form is.

import { el } from "./dom.js";
import { guardedOnce } from "./messages.js";

// The values that differ from what is saved, by what a form edits, and the version that they began with.
const kept = new Map();

addEventListener("beforeunload", (event) => kept.size && event.preventDefault());

/**
 * A form of labelled controls that edits `key`, of which it shows `version`. `save` stores what the controls hold and
 * may throw a Problem, `done` gets its result; without `cancel` it has no such button. `noteOf` gets the version that
 * its edits began with, and returns sentences that stand above.
 */
export function editForm(key, labels, { version = null, noteOf = () => [], save, done, cancel }) {
  const message = el("div", { role: "status" });
  const button = el("button", { type: "submit", class: "primary" }, "Save");
  const submit = async (event) => {
    event.preventDefault();
    let result = null;
    lock(form, true); // what is typed while it is saved would be lost
    const isSaved = await guardedOnce([back, button].filter(Boolean), message, async () => (result = await save(form.elements)), form);
    lock(form, false);
    if (!isSaved) return;
    forgetEdits(key);
    done(result);
  };
  const controls = Object.entries(labels).map(([label, control]) => el("label", {}, label, control));
  const back = cancel && el("button", { type: "button", click: cancel }, "Cancel");
  const form = el("form", { class: "fields", autocomplete: "off", submit }, controls, el("div", { class: "actions" }, back, button), message);
  const notes = noteOf(keepEdits(form, key, version)).filter(Boolean);
  form.prepend(...notes.map((note) => el("p", { class: "note" }, note)));
  return form;
}

/** Keeps the edits of a form, and restores earlier ones; returns the version that they began with. */
function keepEdits(form, key, version) {
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

function lock(form, isLocked) {
  for (const control of form.elements) control.readOnly = isLocked;
}

function valuesOf(form) {
  return Object.fromEntries([...form.elements].filter(({ name }) => name).map(({ name, value }) => [name, value]));
}
