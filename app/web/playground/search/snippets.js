// Marks the matches of a query in a text. Offsets count code points, while JavaScript's strings count UTF-16 units.

import { el } from "../page/dom.js";

/** The nodes of a snippet's text with a <mark> for each match. */
export function markedSnippet({ text, matches }) {
  const points = Array.from(text);
  const nodes = [];
  let done = 0;
  for (const [start, end] of matches) {
    nodes.push(points.slice(done, start).join(""), el("mark", {}, points.slice(start, end).join("")));
    done = end;
  }
  return [...nodes, points.slice(done).join("")].filter((node) => node !== "");
}
