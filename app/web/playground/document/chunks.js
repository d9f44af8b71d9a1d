// Lists the chunks that a document was cut into, for those who ask how searches see it.

import { withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { amount, el, factLine } from "../page/dom.js";
import { lazyFold } from "../page/folds.js";
import { guarded } from "../page/messages.js";

const PER_PAGE = 40;

/** A fold with the chunks of a document. */
export function chunksFold({ document_id: id, chunk_count: total }) {
  const list = el("ol", { class: "chunk-list" });
  const failed = el("div");
  const next = el("button", { type: "button", click: () => guarded(failed, more) }, "More chunks");

  async function more() {
    const { chunks } = await chunksOf(id, list.childElementCount, PER_PAGE);
    list.append(...chunks.map(item));
    next.hidden = list.childElementCount >= total;
    return [list, failed, next];
  }

  return lazyFold("panel", [amount(total, "chunk"), " ", el("span", { class: "note" }, "What searches find")], more);
}

/** A page of the chunks of a document. */
export function chunksOf(id, offset, limit) {
  return call("GET", withParameters(`documents/${id}/chunks`, { limit, offset }));
}

function item({ chunk_index: index, page, start_offset: start, end_offset: end, heading_path: path, content }) {
  const characters = `characters ${start.toLocaleString("en")} to ${end.toLocaleString("en")}`;
  const facts = factLine(`Chunk ${index + 1}`, page != null && `page ${page}`, characters, path.join(" › "));
  return el("li", { class: "chunk" }, facts, el("p", { class: "passage", dir: "auto" }, content));
}
