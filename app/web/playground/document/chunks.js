// Lists the chunks that a document was cut into, for those who ask how searches see it.

import { call } from "../page/api.js";
import { el } from "../page/dom.js";
import { guarded } from "../page/problems.js";

const PER_PAGE = 40;

/** A fold with the chunks of a document. */
export function chunksFold({ document_id: id, chunk_count: total }) {
  const list = el("ol", { class: "chunk-list" });
  const failed = el("div");
  const next = el("button", { type: "button", hidden: true, click: more }, "More chunks");

  async function more() {
    await guarded(failed, async () => {
      const { chunks } = await chunksOf(id, list.childElementCount, PER_PAGE);
      list.append(...chunks.map(item));
      next.hidden = list.childElementCount >= total;
    });
  }

  const summary = el("summary", {}, total === 1 ? "1 chunk " : `${total.toLocaleString("en")} chunks `, el("span", { class: "note" }, "What searches find"));
  const fold = el("details", { class: "panel" }, summary, el("div", { class: "panel-body" }, list, failed, next));
  fold.addEventListener("toggle", more, { once: true });
  return fold;
}

/** A page of the chunks of a document. */
export function chunksOf(id, offset, limit) {
  return call("GET", `documents/${id}/chunks?${new URLSearchParams({ limit, offset })}`);
}

function item(chunk) {
  const characters = `characters ${chunk.start_offset.toLocaleString("en")} to ${chunk.end_offset.toLocaleString("en")}`;
  const facts = [`Chunk ${chunk.chunk_index + 1}`, chunk.page == null ? null : `page ${chunk.page}`, characters, chunk.heading_path.join(" › ")];
  return el("li", { class: "chunk" }, el("p", { class: "where" }, facts.filter(Boolean).map((fact) => el("span", { dir: "auto" }, fact))), el("p", { class: "passage", dir: "auto" }, chunk.content));
}
