// Adds and changes an entity in a dialog; Escape closes it and keeps the edits, Cancel discards them.

import { call } from "../page/api.js";
import { byId, fill } from "../page/dom.js";
import { forgetEdits, keepEdits } from "../page/edits.js";
import { showProblem } from "../page/problems.js";

const LISTS = ["aliases", "facts"];
const TEXTS = ["type", "name", "role", "description"];
const dialog = byId("entity-dialog");
const form = byId("entity-form");
let submit = null;
let edited = null;

/** Asks for a new entity; `done` is called with what has happened once it is stored. */
export function newEntity(done) {
  open("New entity", { type: "person", name: "", aliases: [], role: null, facts: [], description: null }, "", async (given) => {
    const stored = await call("POST", "entities", { body: given });
    return done(`Added ${stored.name}. Texts are linked to it in the background.`);
  });
}

/** Shows an entity to be changed; one that was found in documents is added under its name. Throws Problem. */
export async function editEntity(id, done) {
  const entity = await call("GET", `entities/${id}`);
  const isFound = entity.origin !== "user";
  const note = isFound ? "It was found in documents. Saving adds an entity of your own with this name, which takes its place." : "";
  open(isFound ? `Describe ${entity.name}` : `Edit ${entity.name}`, entity, note, async (given) => {
    if (isFound) await call("POST", "entities", { body: given });
    else await call("PATCH", `entities/${id}`, { body: changes(entity, given) });
    return done(`Saved ${given.name}.`);
  });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("entity-save").disabled = true;
  fill(byId("entity-message"));
  try {
    await submit(read());
    forgetEdits(edited);
    dialog.close();
  } catch (error) {
    showProblem(byId("entity-message"), error);
    mark(error.errors.map(({ field }) => field.split("[")[0]));
  } finally {
    byId("entity-save").disabled = false;
  }
});
byId("entity-cancel").addEventListener("click", () => {
  forgetEdits(edited);
  dialog.close();
});
window.addEventListener("hashchange", () => dialog.close());

function open(title, entity, note, save) {
  submit = save;
  byId("entity-title").textContent = title;
  byId("entity-note").textContent = note;
  for (const name of TEXTS) form.elements[name].value = entity[name] ?? "";
  for (const name of LISTS) form.elements[name].value = entity[name].join("\n");
  edited = `entity ${entity.entity_id ?? ""}`;
  keepEdits(form, edited);
  fill(byId("entity-message"));
  mark([]);
  dialog.showModal();
  form.elements.name.focus();
}

/** The fields as a request has them: a name and a fact a line. */
function read() {
  const lines = (name) => form.elements[name].value.split("\n").map((line) => line.trim()).filter(Boolean);
  const text = (name) => form.elements[name].value.trim();
  return { type: text("type"), name: text("name"), aliases: lines("aliases"), role: text("role") || null, facts: lines("facts"), description: text("description") || null };
}

function changes(entity, given) {
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(entity[name])));
}

function mark(fields) {
  for (const name of [...TEXTS, ...LISTS]) {
    if (fields.includes(name)) form.elements[name].setAttribute("aria-invalid", "true");
    else form.elements[name].removeAttribute("aria-invalid");
  }
}
