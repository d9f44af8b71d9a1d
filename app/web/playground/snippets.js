// Marks the matches of a query in a text. Offsets count code points, while JavaScript's strings count UTF-16 units.

import { el } from "./dom.js";

const TITLES = {
  term: "a word of the query",
  stem: "another form of a word of the query",
  phrase: "a phrase of the query",
  hop: "the name that led here",
};

/** The nodes of a text that begins at code point `start` of its passage, with a <mark> for each match in it. */
export function marked(text, start, matches) {
  const points = Array.from(text);
  const nodes = [];
  let done = 0;
  for (const match of matches) {
    const [from, to] = [match.start - start, match.end - start];
    if (from < done || to > points.length) continue;
    nodes.push(points.slice(done, from).join(""));
    nodes.push(el("mark", { title: TITLES[match.kind], class: `mark-${match.kind}` }, points.slice(from, to).join("")));
    done = to;
  }
  nodes.push(points.slice(done).join(""));
  return nodes.filter((node) => node !== "");
}
