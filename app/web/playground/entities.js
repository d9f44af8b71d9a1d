// Lists the entities, by name or by similarity to a query, with the documents that are linked to each.

import { call, hasKey } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { keyMessage, problemMessage } from "./problems.js";

const PER_PAGE = 50;
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
  const parameters = { limit: PER_PAGE, ...(wanted ? { q: wanted } : {}), ...(cursor ? { cursor } : {}) };
  const page = await call("GET", `entities?${new URLSearchParams(parameters)}`);
  cursor = page.next_cursor;
  byId("entities-more").hidden = cursor === null;
  return page;
}

function row(entity) {
  const body = el("div", { class: "fold-body" });
  const details = el("details", { class: "fold" }, el("summary", {}, "Documents", el("span", { class: "visually-hidden" }, ` of ${entity.name}`)), body);
  details.addEventListener("toggle", () => guarded(() => linked(entity, body)), { once: true });
  const also = entity.aliases.length ? `also ${entity.aliases.join(", ")}` : null;
  return el(
    "li",
    { class: "row row-tall" },
    el("div", { class: "row-text" }, el("strong", {}, entity.name), el("span", { class: "where" }, el("span", { class: "badge" }, entity.type), entity.role, also)),
    details,
  );
}

async function linked(entity, body) {
  const page = await call("GET", `entities/${entity.entity_id}/documents?limit=20`);
  const items = page.documents.map((document) => el("li", {}, document.title, " ", el("span", { class: "uri" }, document.uri ?? "")));
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
