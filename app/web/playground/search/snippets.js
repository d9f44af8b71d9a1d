// Marks the matches of a query in a text. Offsets count code points, while JavaScript's strings count UTF-16 units.

import { el } from "../page/dom.js";

const TITLES = {
  term: "a word of the query",
  stem: "another form of a word of the query",
  phrase: "a phrase of the query",
  hop: "the name that led here",
};

/** What the query of the last answer matches in the passages that are shown, by chunk. */
export const shownMatches = new Map();

/** The nodes of a snippet's text with a <mark> for each match. */
export function markedSnippet({ text, matches }) {
  const inText = matches.map(({ text_start, text_end, kind }) => ({ start: text_start, end: text_end, kind }));
  return marked(text, inText);
}

/** The nodes of a text with a <mark> for each match in it. */
export function marked(text, matches) {
  const points = Array.from(text);
  const nodes = [];
  let done = 0;
  for (const match of matches) {
    const [from, to] = [match.start, match.end];
    if (from < done || to > points.length) continue;
    nodes.push(points.slice(done, from).join(""));
    nodes.push(el("mark", { title: TITLES[match.kind], class: `mark-${match.kind}` }, points.slice(from, to).join("")));
    done = to;
  }
  nodes.push(points.slice(done).join(""));
  return nodes.filter((node) => node !== "");
}
