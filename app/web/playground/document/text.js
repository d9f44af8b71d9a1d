// Shows the text of a document, at the passage that is wanted; of a long text only a part, to which more is added.

import { byId, el, fill } from "../page/dom.js";
import { LANGUAGES } from "../tables.js";
import { markdownBlocks, plainBlocks } from "./markdown.js";

// Characters of a text that are drawn at once.
const PART = 60_000;

/** Fills a place with the text of a document, and moves to the passage, a pair of offsets, or else to the title. */
export function showText(place, { content, title, markdown, language }, passage) {
  const blocks = markdown ? markdownBlocks(content, title) : plainBlocks(content);
  const index = (offset) => blocks.filter((block) => block.end <= offset).length;
  const wanted = passage?.start ?? 0;
  let [begin, end] = [index(wanted - PART / 4), index(wanted)];
  const text = el("div", { class: markdown ? "text" : "text plain", lang: LANGUAGES[language] ?? "" });
  const before = el("button", { type: "button", click: () => focusOn(more(Math.min(index(blocks[begin].start - PART), begin - 1), begin)) }, "Earlier text");
  const after = el("button", { type: "button", click: () => focusOn(later()) }, "Later text");

  function later() {
    return more(end, Math.max(index((blocks[end]?.start ?? 0) + PART), end + 1));
  }

  /** Draws a part; its first element. */
  function more(from, to) {
    const drawn = blocks.slice(from, to).map((block) => block.draw());
    for (const one of drawn) one.dir = "auto"; // a list, a quotation or a table runs in one direction
    if (from < begin) text.prepend(...drawn);
    else text.append(...drawn);
    [begin, end] = [Math.min(begin, from), Math.max(end, from + drawn.length)];
    [before.hidden, after.hidden] = [begin === 0, end === blocks.length];
    for (const piece of passage ? text.querySelectorAll("[data-start]") : []) {
      piece.classList.toggle("wanted", piece.dataset.start < passage.end && piece.dataset.end > passage.start);
    }
    return drawn[0];
  }

  fill(place, before, text, after, blocks.length ? null : el("p", { class: "note" }, "It has no text beyond its title."));
  more(begin, end);
  later();
  arrive(text);
}

function arrive(text) {
  const target = text.querySelector(".wanted") ?? byId("document-title");
  focusOn(target);
  if (target.matches(".wanted")) target.scrollIntoView({ block: "center" });
}

function focusOn(target) {
  target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
}

/** The place of a chunk in a text, whose offsets count code points, while JavaScript's strings count UTF-16 units. */
export function placeOf({ start_offset: start, end_offset: end }, text) {
  const place = { start: 0, end: 0 };
  let points = 0;
  for (let unit = 0; points <= end && unit <= text.length; points += 1) {
    if (points === start) place.start = unit;
    if (points === end) place.end = unit;
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  }
  return place;
}
