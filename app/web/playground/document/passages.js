// Shows the chunks of a document in order, in pages before and after the chunk that is wanted.

import { call } from "../page/api.js";
import { byId, el, fill } from "../page/dom.js";
import { showProblem } from "../page/problems.js";

const PER_PAGE = 40;

/** Fills a place with a document's chunks, and moves to the wanted one or else to the title. */
export async function chunkList(place, { document_id: id, chunk_count: total }, parameters) {
  const wanted = parameters.get("chunk");
  const index = wanted ? await indexOf(id, wanted, Number(parameters.get("at")) || 0) : null;
  const first = index === null ? 0 : Math.max(0, index - 5);
  const list = el("ol", { class: "chunk-list", "aria-label": "Text by chunks" });
  let [begin, end] = [first, first];
  const before = el("button", { type: "button", click: () => more(Math.max(0, begin - PER_PAGE), begin) }, "Earlier chunks");
  const after = el("button", { type: "button", click: () => more(end, end + PER_PAGE) }, "Later chunks");

  async function more(from, to) {
    place.setAttribute("aria-busy", "true");
    try {
      const rows = (await page(id, from, to - from)).map((chunk) => item(chunk, id, wanted));
      if (from < begin) list.prepend(...rows);
      else list.append(...rows);
      [begin, end] = [Math.min(begin, from), Math.max(end, from + rows.length)];
      before.hidden = begin === 0;
      after.hidden = end >= total;
    } catch (error) {
      showProblem(byId("document-message"), error);
    } finally {
      place.removeAttribute("aria-busy");
    }
  }

  const gone = el("p", { class: "message" }, "The passage is no longer where it was: the document has changed since. This is the document as it is now.");
  fill(place, wanted && index === null ? gone : null, el("h2", { class: "rows-title" }, "Text"), before, list, after);
  await more(first, first + PER_PAGE);
  arrive(list);
}

async function page(id, offset, limit) {
  return (await call("GET", `documents/${id}/chunks?${new URLSearchParams({ limit, offset })}`)).chunks;
}

/** The index of a chunk, or null if it is not where it was, at `hint`. */
async function indexOf(id, wanted, hint) {
  const [chunk] = await page(id, hint, 1);
  return chunk?.chunk_id === wanted ? hint : null;
}

function item(chunk, id, wanted) {
  const isWanted = chunk.chunk_id === wanted;
  const facts = [`Chunk ${chunk.chunk_index + 1}`, chunk.page == null ? null : `page ${chunk.page}`, `characters ${chunk.start_offset.toLocaleString("en")} to ${chunk.end_offset.toLocaleString("en")}`];
  const path = chunk.heading_path.length ? el("span", { class: "path", dir: "auto" }, chunk.heading_path.join(" › ")) : null;
  return el(
    "li",
    { class: `chunk${isWanted ? " chunk-wanted" : ""}`, "data-chunk": chunk.chunk_id, tabindex: isWanted ? "-1" : null, "aria-current": isWanted ? "true" : null },
    el("p", { class: "where" }, facts.filter(Boolean).map((fact) => el("span", {}, fact)), path),
    el("p", { class: "passage", dir: "auto" }, chunk.content),
  );
}

function arrive(list) {
  if (!list.isConnected) return; // another document was opened meanwhile
  const target = list.querySelector(".chunk-wanted");
  if (!target) return byId("document-title").focus();
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "center" });
}
