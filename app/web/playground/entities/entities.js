// Lists the entities page by page, or searches them with scores, and selects those that are to be merged.

import { address, withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { byId, documentName, el, factLine, fill, uriBesideName } from "../page/dom.js";
import { lazyFold } from "../page/folds.js";
import { confirmed, guarded } from "../page/messages.js";
import { Listing } from "../page/pages.js";
import { editEntity, newEntity } from "./entity_form.js";

const PER_PAGE = 50;
const MATCHED_BY = {
  name: "by name",
  fuzzy: "by a similar name",
  description: "by meaning",
  role: "by role",
  team: "as a member of a team",
  fact: "by what is known",
};
const ORIGINS = { user: "added", metadata: "from metadata", title: "from a title" };
const guard = (work) => guarded(byId("entities-message"), work);
const chosen = new Map();
// Whether what is chosen is not of the next list that is shown.
let isOver = false;
const listing = new Listing("entities", { load, show, guard, changed: () => (isOver = true) });

/** Shows the entities that the address selects. */
export function listEntities(parameters) {
  return listing.open(parameters);
}

byId("entities-new").addEventListener("click", () => newEntity(saved));
byId("entities-merge").addEventListener("click", merged);

function load({ query, type, origin }, cursor) {
  // Hits are ordered by their score and have no origin.
  listing.form.elements.origin.disabled = Boolean(query);
  if (query) return call("POST", "entities/search", { body: { query, limit: PER_PAGE, type } });
  return call("GET", withParameters("entities", { limit: PER_PAGE, type, origin, cursor }));
}

function show(page, at) {
  if (isOver) chosen.clear();
  isOver = false;
  fill(byId("entities-list"), page.entities.map(row));
  showChosen();
  const types = new Set([...byId("entity-types").children].map((option) => option.value).concat(page.entities.map(({ type }) => type)));
  fill(byId("entity-types"), [...types].map((value) => el("option", { value })));
  const none = Object.keys(listing.selected).length ? "No entity matches." : "There are no entities. They come from titles and metadata of documents, or you add them.";
  const notes = [page.degraded?.length ? "The embedding model failed, so entities were not found by their meaning." : null, page.entities.length || at ? null : none];
  fill(byId("entities-message"), notes.filter(Boolean).map((note) => el("p", { class: "message" }, note)));
}

function row(entity) {
  const { name, origin } = entity;
  const also = entity.aliases?.length > 0 && `also ${entity.aliases.join(", ")}`;
  const matched = entity.matched_by && `${MATCHED_BY[entity.matched_by]}, ${entity.score.toFixed(2)}`;
  const facts = factLine(el("span", { class: "badge" }, entity.type), entity.role, also, matched, ORIGINS[origin]);
  const button = (action, click) => el("button", { type: "button", class: "quiet", "aria-label": `${action} ${name}`, click }, action);
  const edit = button("Edit", () => guard(() => editEntity(entity.entity_id, saved)));
  const remove = (!origin || origin === "user") && button("Delete", () => removed(entity));
  return el("li", { class: "row" }, box(entity), el("div", { class: "row-text" }, el("strong", { dir: "auto" }, name), facts), edit, remove, documents(entity));
}

function box(entity) {
  const change = (event) => {
    if (event.target.checked) chosen.set(entity.entity_id, entity);
    else chosen.delete(entity.entity_id);
    showChosen();
  };
  return el("input", { type: "checkbox", checked: chosen.has(entity.entity_id), "aria-label": `Select ${entity.name}`, change });
}

function showChosen() {
  byId("entities-bulk").hidden = !chosen.size;
  byId("entities-chosen").textContent = `${chosen.size} selected`;
  byId("entities-merge").disabled = chosen.size < 2;
}

function documents({ entity_id: id, name }) {
  return lazyFold("fold", ["Documents", el("span", { class: "visually-hidden" }, ` of ${name}`)], async () => {
    const page = await call("GET", `entities/${id}/documents?limit=20`);
    const items = page.documents.map((document) => el("li", {}, el("a", { href: address("document", { id: document.document_id }), dir: "auto" }, documentName(document)), " ", uriBesideName(document)));
    const note = page.next_cursor ? "The 20 with the strongest links are shown." : !items.length && "None yet.";
    return [el("ul", {}, items), note && el("p", { class: "note" }, note)];
  });
}

async function saved(text) {
  isOver = true;
  await listing.again();
  byId("entities-message").prepend(el("p", { class: "message" }, text));
  byId("entities-title").focus();
}

async function removed(entity) {
  const text = `“${entity.name}” and its links to documents are removed for good; the documents stay.`;
  if (!(await confirmed({ title: "Delete this entity?", text, action: "Delete" }))) return;
  await guard(async () => {
    await call("DELETE", `entities/${entity.entity_id}`);
    await saved(`Deleted ${entity.name}.`);
  });
}

/** Merges the selected entities into one: the first that the user has added, else the first that was selected. */
async function merged() {
  const entities = [...chosen.values()];
  const stays = entities.find(({ origin }) => origin === "user") ?? entities[0];
  const others = entities.filter((one) => one !== stays);
  const text = `“${stays.name}” takes over the names, facts, members and teams of ${others.map(({ name }) => `“${name}”`).join(", ")}, which are removed.`;
  if (!(await confirmed({ title: `Merge ${entities.length} entities?`, text, action: `Merge into ${stays.name}` }))) return;
  await guard(async () => {
    const { name } = await call("POST", `entities/${await ownEntity(stays.entity_id)}/merge`, { body: { entity_ids: others.map(({ entity_id: id }) => id) } });
    await saved(`Merged ${entities.length} entities into ${name}. Texts are linked again in the background.`);
  });
}

/** The id of an entity; one that was found in documents is added first, because only an added one takes over others. */
async function ownEntity(id) {
  const { origin, type, name, aliases } = await call("GET", `entities/${id}`);
  if (origin === "user") return id;
  return (await call("POST", "entities", { body: { type, name, aliases } })).entity_id;
}
