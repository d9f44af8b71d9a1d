// Turns the explain of a hit into components that add up to its score, and draws them as stacked bars.

import { capitalised, el } from "../page/dom.js";
import { SIGNALS } from "../tables.js";

const LEGS = { vector: "Vector leg", text: "Text leg" };
const STEPS = {
  boost: ["Mentions", (s) => `× ${number(s.factor)}, for names of the query`],
  entity: ["Entity", (s) => `weight ${number(s.weight)}, entity's score ${number(s.parent_score)}`],
  kept: ["Kept", () => "one of the best three without guidance stays"],
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

/** The components of a score as bars, each of which starts where the one before ends. */
export function scoreBars(explain) {
  const parts = explain.parts ? ofHops(explain) : ofSearch(explain);
  let sum = 0;
  const placed = parts.map((part) => ({ ...part, before: sum, after: (sum += part.value) }));
  const scale = Math.max(1, ...placed.map(({ after }) => after));
  const total = { name: "Score", how: "", value: explain.score, kind: "total", before: 0, after: explain.score };
  return [el("div", { class: "bars", role: "list", "aria-label": "Components of the score" }, [...placed, total].map((part) => bar(part, scale))), order(explain)];
}

/** The components of the score of one search, each with its name, how it came about, and its signed value. */
function ofSearch(explain) {
  const legs = Object.entries(explain.legs).map(([name, leg]) => ({
    name: LEGS[name] ?? name,
    how: leg.rank == null ? "not found" : `rank ${leg.rank}, ${name === "text" ? "BM25" : "cosine"} ${number(leg.score)}, weight ${number(leg.weight)}`,
    value: leg.share ?? 0,
    kind: name,
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
      return { name: title, how: how(step), value: step.score - step.score_before, kind: "step" };
    });
}

function ofHops(explain) {
  const parts = Object.entries(explain.parts).map(([name, value]) => ({
    name: capitalised(PARTS[name] ?? name),
    how: `${number(value)} of ${number(explain.best)}`,
    value: value / explain.best,
    kind: name === "fused" || name === "cos" ? "vector" : "text",
  }));
  parts.push(...steps(explain, ["rerank", "recency"]));
  const sum = parts.reduce((total, part) => total + part.value, 0);
  if (sum > 1) parts.push({ name: "Cap", how: "a score is at most 1", value: 1 - sum, kind: "step" });
  return parts;
}

function bar(part, scale) {
  const [low, high] = [Math.min(part.before, part.after), Math.max(part.before, part.after)];
  const drawn = el("span", { class: `bar bar-${part.kind}${part.value < 0 ? " bar-less" : ""}` });
  // The CSP permits this, unlike `style="…"`.
  drawn.style.setProperty("--start", `${((100 * low) / scale).toFixed(3)}%`);
  drawn.style.setProperty("--length", `${((100 * (high - low)) / scale).toFixed(3)}%`);
  const sign = part.value < 0 ? "−" : part.kind === "step" ? "+" : "";
  return el(
    "div",
    { class: `bar-row${part.kind === "total" ? " bar-sum" : ""}`, role: "listitem", "data-value": part.value },
    el("span", {}, part.name),
    el("span", { class: "bar-value" }, sign + number(Math.abs(part.value))),
    el("span", { class: "track", "aria-hidden": "true" }, drawn),
    el("span", { class: "note" }, part.how),
  );
}

function order(explain) {
  const mmr = explain.mmr;
  if (!mmr) return null;
  const text = `MMR placed it by ${number(mmr.value)}: ${number(mmr.lambda)} × score − ${number(1 - mmr.lambda)} × ${number(mmr.nearest)}, the similarity to the nearest hit above.`;
  return el("p", { class: "note" }, text);
}

function number(value) {
  return value.toFixed(3);
}
