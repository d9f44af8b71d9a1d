// Lists the entities page by page, or searches them with scores, and selects those that are to be merged.

import { address, replaceAddress } from "../page/address.js";
import { call } from "../page/api.js";
import { confirmed } from "../page/confirm.js";
import { byId, documentName, el, fill, uriBesideName } from "../page/dom.js";
import { editEntity, newEntity } from "./entity_form.js";
import { Pages } from "../page/pages.js";
import { guarded } from "../page/problems.js";

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
const form = byId("entities-form");
const guard = (work) => guarded(byId("entities-message"), work);
const pages = new Pages(byId("entities-pages"), { load, show, guard });
const chosen = new Map();

/** Shows the entities that the address selects. */
export function listEntities(parameters = new URLSearchParams(wanted())) {
  for (const name of ["query", "type", "origin"]) form.elements[name].value = parameters.get(name) ?? "";
  return listed();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});
form.elements.query.addEventListener("search", changed);
for (const name of ["type", "origin"]) form.elements[name].addEventListener("change", changed);
byId("entities-new").addEventListener("click", () => newEntity(saved));
byId("entities-merge").addEventListener("click", merged);

function changed() {
  replaceAddress("entities", wanted());
  return listed();
}

function wanted() {
  return Object.fromEntries(["query", "type", "origin"].map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value));
}

function listed() {
  chosen.clear();
  return pages.open(wanted());
}

function load(cursor) {
  const { query, type, origin } = wanted();
  // Hits are ordered by their score and have no origin.
  form.elements.origin.disabled = Boolean(query);
  if (query) return call("POST", "entities/search", { body: { query, limit: PER_PAGE, ...(type ? { type } : {}) } });
  return call("GET", `entities?${new URLSearchParams({ limit: PER_PAGE, ...(type ? { type } : {}), ...(origin ? { origin } : {}), ...(cursor ? { cursor } : {}) })}`);
}

function show(page, at) {
  fill(byId("entities"), page.entities.map(row));
  showChosen();
  const types = new Set([...byId("entity-types").children].map((option) => option.value));
  for (const { type } of page.entities) if (!types.has(type)) types.add(type), byId("entity-types").append(el("option", { value: type }));
  const none = Object.keys(wanted()).length ? "No entity matches." : "There are no entities. They come from titles and metadata of documents, or you add them.";
  const notes = [page.degraded?.length ? "The embedding model failed, so entities were not found by their meaning." : null, page.entities.length || at ? null : none];
  fill(byId("entities-message"), notes.filter(Boolean).map((note) => el("p", { class: "message" }, note)));
}

function row(entity) {
  const also = entity.aliases?.length ? el("span", { dir: "auto" }, `also ${entity.aliases.join(", ")}`) : null;
  const matched = entity.matched_by ? el("span", {}, `${MATCHED_BY[entity.matched_by]}, ${entity.score.toFixed(2)}`) : null;
  const origin = entity.origin ? el("span", {}, ORIGINS[entity.origin]) : null;
  const role = entity.role ? el("span", { dir: "auto" }, entity.role) : null;
  const facts = el("span", { class: "where" }, el("span", { class: "badge" }, entity.type), role, also, matched, origin);
  const edit = el("button", { type: "button", class: "quiet edit", "aria-label": `Edit ${entity.name}`, click: () => guard(() => editEntity(entity.entity_id, saved)) }, "Edit");
  const isFound = entity.origin && entity.origin !== "user";
  const remove = isFound ? null : el("button", { type: "button", class: "quiet", "aria-label": `Delete ${entity.name}`, click: () => removed(entity) }, "Delete");
  return el("li", { class: "row row-tall row-chosen" }, box(entity), el("div", { class: "row-text" }, el("strong", { dir: "auto" }, entity.name), facts), edit, remove, documents(entity));
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

function documents(entity) {
  const body = el("div", { class: "fold-body" });
  const fold = el("details", { class: "fold" }, el("summary", {}, "Documents", el("span", { class: "visually-hidden" }, ` of ${entity.name}`)), body);
  fold.addEventListener("toggle", () => guard(() => linked(entity, body)), { once: true });
  return fold;
}

async function linked(entity, body) {
  const page = await call("GET", `entities/${entity.entity_id}/documents?limit=20`);
  const items = page.documents.map((document) => el("li", {}, el("a", { href: address("document", { id: document.document_id }), dir: "auto" }, documentName(document)), " ", uriBesideName(document)));
  const more = page.next_cursor ? el("p", { class: "note" }, "The 20 with the strongest links are shown.") : null;
  fill(body, items.length ? el("ul", { class: "plain" }, items) : el("p", { class: "note" }, "None yet."), more);
}

async function saved(text) {
  chosen.clear();
  await pages.again();
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
