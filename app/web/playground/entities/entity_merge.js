// Merges selected entities into the one that is chosen in a dialog.

import { call } from "../page/api.js";
import { byId, el, fill } from "../page/dom.js";
import { showProblem } from "../page/problems.js";

const dialog = byId("merge-dialog");
let merge = null;

/** Asks which of some entities stays, and merges the others into it; `done` is called with what has happened. */
export function mergeEntities(entities, done) {
  const choice = (entity, place) =>
    el("label", { class: "check" }, el("input", { type: "radio", name: "stays", value: entity.entity_id, checked: place === 0 }), el("span", { dir: "auto" }, entity.name, " ", el("span", { class: "note" }, [entity.type, entity.role].filter(Boolean).join(", "))));
  // One that the user has added stays by default: it has what others lack.
  const [first = entities[0]] = entities.filter(({ origin }) => origin === "user");
  fill(byId("merge-choices"), [first, ...entities.filter((one) => one !== first)].map(choice));
  fill(byId("merge-message"));
  merge = async () => {
    const id = byId("merge-form").elements.stays.value;
    const stays = await ownEntity(id);
    const others = entities.map(({ entity_id: other }) => other).filter((other) => other !== id);
    const merged = await call("POST", `entities/${stays}/merge`, { body: { entity_ids: others } });
    return done(`Merged ${entities.length} entities into ${merged.name}. Texts are linked again in the background.`);
  };
  dialog.showModal();
  byId("merge-choices").querySelector("input:checked").focus();
}

byId("merge-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("merge-save").disabled = true;
  try {
    await merge();
    dialog.close();
  } catch (error) {
    showProblem(byId("merge-message"), error);
  } finally {
    byId("merge-save").disabled = false;
  }
});
byId("merge-cancel").addEventListener("click", () => dialog.close());
window.addEventListener("hashchange", () => dialog.close());

/** The id of an entity; one that was found in documents is added first, because only an added one takes over others. */
async function ownEntity(id) {
  const { origin, type, name, aliases } = await call("GET", `entities/${id}`);
  if (origin === "user") return id;
  return (await call("POST", "entities", { body: { type, name, aliases } })).entity_id;
}
