// Lists the stored documents, newest first, and deletes them.

import { call, hasKey } from "./api.js";
import { confirmed } from "./confirm.js";
import { byId, el, fill, shownUri } from "./dom.js";
import { keyMessage, problemMessage } from "./problems.js";

const PER_PAGE = 25;
let cursor = null;

/** Shows the first page and the counts of what is stored. */
export async function listDocuments() {
  cursor = null;
  await guarded(async () => {
    const [stats, page] = await Promise.all([call("GET", "stats"), call("GET", `documents?limit=${PER_PAGE}`)]);
    showStats(stats);
    fill(byId("documents"), page.documents.map(row));
    turned(page);
    if (!page.documents.length) fill(byId("documents-message"), el("p", { class: "message" }, "Nothing is stored yet."));
  });
}

byId("documents-more").addEventListener("click", () =>
  guarded(async () => {
    const page = await call("GET", `documents?${new URLSearchParams({ limit: PER_PAGE, cursor })}`);
    byId("documents").append(...page.documents.map(row));
    turned(page);
  }),
);

function turned(page) {
  cursor = page.next_cursor;
  byId("documents-more").hidden = cursor === null;
}

function showStats(stats) {
  byId("stats").textContent = inNumbers(stats);
  fill(byId("duplicates"), ...equalDocuments(stats.duplicates));
}

function equalDocuments({ documents, sets }) {
  if (!documents) return [];
  const names = (set) => set.documents.map((one) => (one.uri ? shownUri(one.uri) : one.title)).join(", ") + (set.count > set.documents.length ? ", …" : "");
  const title = documents === 1 ? "1 document repeats another one" : `${documents.toLocaleString("en")} documents repeat others`;
  return [el("details", { class: "fold" }, el("summary", {}, title), el("ul", { class: "plain" }, sets.map((set) => el("li", { class: "where" }, `${set.count}: ${names(set)}`))))];
}

function inNumbers(stats) {
  const number = (value) => value.toLocaleString("en");
  return `${number(stats.documents)} documents, ${number(stats.chunks)} chunks, ${number(stats.tokens)} words, embedded by ${stats.embedding_model}`;
}

function row(document) {
  const name = document.title || shownUri(document.uri ?? "") || document.document_id;
  const chunks = document.chunk_count === 1 ? "1 chunk" : `${document.chunk_count} chunks`;
  const remove = el("button", { type: "button", class: "quiet", "aria-label": `Delete ${name}` }, "Delete");
  const item = el(
    "li",
    { class: "row" },
    el("div", { class: "row-text" }, el("strong", {}, name), el("span", { class: "where" }, document.uri ? el("span", { class: "uri" }, shownUri(document.uri)) : null, el("span", {}, chunks), el("span", {}, document.created_at.slice(0, 10)))),
    remove,
  );
  remove.addEventListener("click", async () => (await confirmed({ title: "Delete this document?", text: `“${name}” and its chunks are removed for good.`, action: "Delete" })) && guarded(() => removed(document, item)));
  return item;
}

async function removed(document, item) {
  await call("DELETE", `documents/${document.document_id}`);
  item.remove();
  showStats(await call("GET", "stats"));
  byId("documents-message").textContent = `Deleted ${document.title || shownUri(document.uri ?? "")}.`;
  byId("documents-title").focus();
}

async function guarded(work) {
  fill(byId("documents-message"));
  try {
    await work();
  } catch (error) {
    if (!("errors" in error)) throw error;
    fill(byId("documents-message"), error.wantsKey ? keyMessage(error, hasKey()) : problemMessage(error));
  }
}
