// Lists the entities by name, or searches them by a query, with the documents that are linked to each.

import { call, hasKey } from "./api.js";
import { byId, el, fill, shownUri } from "./dom.js";
import { keyMessage, problemMessage } from "./problems.js";

const PER_PAGE = 50;
const MATCHED_BY = {
  name: "by name",
  fuzzy: "by a similar name",
  description: "by meaning",
  role: "by role",
  team: "as a member of a team",
  fact: "by what is known",
};
let cursor = null;

/** Shows the first page. */
export function listEntities() {
  cursor = null;
  return guarded(async () => {
    const page = await load();
    fill(byId("entities"), page.entities.map(row));
    if (!page.entities.length) fill(byId("entities-message"), el("p", { class: "message" }, "No entities are found. They come from titles and metadata of documents, or are added over the API."));
  });
}

byId("entities-form").addEventListener("submit", (event) => {
  event.preventDefault();
  listEntities();
});
byId("entities-more").addEventListener("click", () =>
  guarded(async () => byId("entities").append(...(await load()).entities.map(row))),
);

async function load() {
  const wanted = byId("entities-query").value.trim();
  const parameters = { limit: PER_PAGE, ...(cursor ? { cursor } : {}) };
  const page = wanted
    ? await call("POST", "entities/search", { body: { query: wanted, limit: PER_PAGE } })
    : await call("GET", `entities?${new URLSearchParams(parameters)}`);
  cursor = page.next_cursor ?? null;
  byId("entities-more").hidden = cursor === null;
  return page;
}

function row(entity) {
  const body = el("div", { class: "fold-body" });
  const details = el("details", { class: "fold" }, el("summary", {}, "Documents", el("span", { class: "visually-hidden" }, ` of ${entity.name}`)), body);
  details.addEventListener("toggle", () => guarded(() => linked(entity, body)), { once: true });
  const also = entity.aliases?.length ? `also ${entity.aliases.join(", ")}` : null;
  const matched = entity.matched_by ? `${MATCHED_BY[entity.matched_by]}, ${entity.score.toFixed(2)}` : null;
  return el(
    "li",
    { class: "row row-tall" },
    el("div", { class: "row-text" }, el("strong", {}, entity.name), el("span", { class: "where" }, el("span", { class: "badge" }, entity.type), entity.role, also, matched)),
    details,
  );
}

async function linked(entity, body) {
  const page = await call("GET", `entities/${entity.entity_id}/documents?limit=20`);
  const items = page.documents.map((document) => el("li", {}, document.title, " ", el("span", { class: "uri" }, shownUri(document.uri ?? ""))));
  fill(body, items.length ? el("ul", { class: "plain" }, items) : el("p", { class: "note" }, "None yet."));
}

async function guarded(work) {
  fill(byId("entities-message"));
  try {
    await work();
  } catch (error) {
    if (!("errors" in error)) throw error;
    fill(byId("entities-message"), error.wantsKey ? keyMessage(error, hasKey()) : problemMessage(error));
  }
}
