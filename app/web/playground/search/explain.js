// Turns the explain of a hit into components that add up to its score, and lists them.

import { capitalised, el } from "../page/dom.js";
import { SIGNALS } from "../tables.js";

const LEGS = { vector: "Vector leg", text: "Text leg" };
const STEPS = {
  boost: ["Mentions", (s) => `× ${number(s.factor)}, for names of the query`],
  entity: ["Entity", (s) => `weight ${number(s.weight)}, entity's score ${number(s.parent_score)}`],
  kept: ["Kept", () => "one of the best three without guidance stays"],
  closer: ["Closer", (s) => `covers ${number(s.covered)} of the query, was at ${s.place_before}`],
  rerank: ["Re-ranking", (s) => (s.value == null ? "not re-ranked" : `by ${s.by}: ${number(s.value)}`)],
  recency: ["Age", (s) => (s.age_days == null ? "no date" : `× ${number(s.factor)}, ${s.age_days.toFixed(1)} days old`)],
  page: ["Page", () => "at most the scores of the page before"],
  cap: ["Cap", () => "a score is at most 1"],
};
const PARTS = {
  ...SIGNALS,
  covers: "words of the query",
  first: "best hit of one search",
  rrf: "reciprocal ranks",
  hop_1: "first hop",
  single_document: "only one of its document",
};

/** The components of a score, and what they add up to. */
export function scoreParts(explain) {
  const parts = explain.parts ? ofHops(explain) : ofSearch(explain);
  const rows = [...parts.map(row), row({ name: "Score", how: "", value: explain.score })];
  return el("ul", { class: "parts", "aria-label": "Components of the score" }, rows);
}

/** The components of the score of one search, each with its name, how it came about, and its signed value. */
function ofSearch(explain) {
  const legs = Object.entries(explain.legs).map(([name, leg]) => ({
    name: LEGS[name] ?? name,
    how: leg.rank == null ? "not found" : `rank ${leg.rank}, ${name === "text" ? "BM25" : "cosine"} ${number(leg.score)}, weight ${number(leg.weight)}`,
    value: leg.share ?? 0,
  }));
  return [...legs, ...steps(explain, Object.keys(explain))];
}

/** The steps of these names that have changed a score. */
function steps(explain, names) {
  return names
    .filter((name) => name in STEPS && name in explain)
    .map((name) => {
      const [title, how] = STEPS[name];
      const step = explain[name];
      return { name: title, how: how(step), value: step.score - step.score_before };
    });
}

function ofHops(explain) {
  const parts = Object.entries(explain.parts).map(([name, value]) => ({
    name: capitalised(PARTS[name] ?? name),
    how: `${number(value)} of ${number(explain.best)}`,
    value: value / explain.best,
  }));
  parts.push(...steps(explain, ["rerank", "recency"]));
  const sum = parts.reduce((total, part) => total + part.value, 0);
  if (sum > 1) parts.push({ name: "Cap", how: "a score is at most 1", value: 1 - sum });
  return parts;
}

function row({ name, how, value }) {
  return el("li", { "data-value": value }, `${name} `, el("strong", {}, number(value)), " ", el("span", { class: "note" }, how));
}

function number(value) {
  return value.toFixed(3);
}
