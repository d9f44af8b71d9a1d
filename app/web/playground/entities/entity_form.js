// Adds and changes an entity in a dialog; Escape closes it and keeps the edits, Cancel discards them.

import { call } from "../page/api.js";
import { byId, el, fill } from "../page/dom.js";
import { editForm, forgetEdits } from "../page/edits.js";

const NEW = { type: "person", name: "", aliases: [], role: null, facts: [], description: null };
const FOUND = "It was found in documents. Saving adds an entity of your own with this name, which takes its place.";
const dialog = byId("entity-dialog");

addEventListener("hashchange", () => dialog.close());

/** Asks for a new entity; `done` is called with what has happened once it is stored. */
export function newEntity(done) {
  open("New entity", NEW, done, async (given) => {
    const { name } = await call("POST", "entities", { body: given });
    return `Added ${name}. Texts are linked to it in the background.`;
  });
}

/** Shows an entity to be changed; one that was found in documents is added under its name. Throws Problem. */
export async function editEntity(id, done) {
  const entity = await call("GET", `entities/${id}`);
  const isFound = entity.origin !== "user";
  open(`${isFound ? "Describe" : "Edit"} ${entity.name}`, entity, done, async (given) => {
    const changed = Object.entries(given).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(entity[name]));
    if (isFound) await call("POST", "entities", { body: given });
    else await call("PATCH", `entities/${id}`, { body: Object.fromEntries(changed) });
    return `Saved ${given.name}.`;
  });
}

function open(title, entity, done, store) {
  const key = `entity ${entity.entity_id ?? ""}`;
  const line = (name, attributes) => el("input", { name, value: entity[name], ...attributes });
  const text = (name, shown, attributes) => el("textarea", { name, rows: "3", dir: "auto", ...attributes }, shown);
  const labels = {
    Name: line("name", { maxlength: "800", required: true, dir: "auto", autofocus: true }),
    Type: line("type", { list: "entity-types", maxlength: "40", required: true, spellcheck: "false" }),
    Role: line("role", { maxlength: "200", placeholder: "mason", dir: "auto" }),
    "Other names, one a line": text("aliases", entity.aliases.join("\n"), { spellcheck: "false" }),
    "Facts, one sentence a line": text("facts", entity.facts.join("\n")),
    Description: text("description", entity.description, { maxlength: "4000" }),
  };
  const close = (after) => {
    forgetEdits(key);
    dialog.close();
    after?.();
  };
  const form = editForm(key, labels, {
    noteOf: () => [entity.origin && entity.origin !== "user" && FOUND],
    save: (controls) => store(read(controls)),
    done: (said) => close(() => done(said)),
    cancel: () => close(),
  });
  fill(dialog, el("h2", { id: "entity-title", dir: "auto" }, title), form);
  dialog.showModal();
}

/** The fields as a request has them: a name and a fact a line. */
function read({ type, name, aliases, role, facts, description }) {
  const lines = ({ value }) => value.split("\n").map((line) => line.trim()).filter(Boolean);
  const text = ({ value }) => value.trim() || null;
  return { type: type.value.trim(), name: name.value.trim(), aliases: lines(aliases), role: text(role), facts: lines(facts), description: text(description) };
}
