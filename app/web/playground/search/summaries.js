// Draws what holds for a whole answer: whether it answers, what was left out, how it was searched, and how long it took.

import { el, inWords } from "../page/dom.js";
import { explainedFold } from "./explanations.js";
import { LIKELY, POSSIBLE } from "../levels.js";

const DEGRADED = {
  embedding_failed: "The query could not be embedded.",
  no_query_vector: "Only words were searched.",
  invalid_expression: "The expression could not be read, so its words were searched.",
  no_text_terms: "The query has no words that are indexed, so only vectors were searched.",
  llm_failed: "The language model failed, so names were found without it.",
  reranker_failed: "The re-ranker failed, so the order is that of the fusion.",
  hop2_failed: "The second hop failed, so only the first one is shown.",
};
const RELAXED = {
  constraints_dropped: "No passage meets the quotes and required words, so they were not applied.",
  similar_words: "Words of similar spelling were searched for words that no passage contains.",
  nearest_vectors: "No word was found; these are the nearest passages.",
};

/** The head of an answer. */
export function answerHead(answer) {
  return el(
    "div",
    { class: "answer-head" },
    el("h2", { tabindex: "-1", id: "answer-title" }, count(answer.results.length)),
    verdict(answer),
    el("p", { class: "facts" }, facts(answer).map((fact) => el("span", {}, fact))),
    notices(answer),
  );
}

/** Whether an answer has passages, and none of them probably answers. */
export function isAnswerUnlikely(answer) {
  return answer.results.length > 0 && answer.answerable != null && answer.answerable < POSSIBLE;
}

/** What a screen reader says when an answer has come. */
export function announcement(answer) {
  const verdict = answer.answerable == null ? "" : `, ${inVerdict(answer.answerable)[0].toLowerCase()}`;
  return count(answer.results.length) + verdict;
}

/** A panel with how the query was read and searched, and the milliseconds of each stage. */
export function searchedPanel(explained) {
  return explainedFold("How it was searched", "panel", explained, ({ explain }) => {
    const facts = ["query_type", "mode", "fusion", "depth", "depth_reason", "search_mode", "fallback_reason"];
    const words = facts.filter((name) => explain[name]).map((name) => [inWords(name), inWords(String(explain[name]))]);
    const times = Object.entries(explain.timings).map(([stage, ms]) => [inWords(stage), `${ms.toFixed(1)} ms`]);
    const rows = [...words, ...times].map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)));
    const missed = explain.approximate ? el("p", {}, "Matching passages may be missing: the index was not searched to its end.") : null;
    return [missed, el("dl", { class: "metadata" }, rows)];
  });
}

function count(number) {
  return number === 1 ? "1 passage" : `${number || "No"} passages`;
}

function inVerdict(score) {
  if (score >= LIKELY) return ["Answer likely", "yes"];
  return score >= POSSIBLE ? ["Answer uncertain", "open"] : ["No answer likely", "no"];
}

function verdict(answer) {
  if (answer.answerable == null) return null;
  const percent = `${Math.round(100 * answer.answerable)}%`;
  const [text, kind] = inVerdict(answer.answerable);
  const title = "Score, 0 to 100%, of whether any of these passages answers the query";
  return el("p", { class: `verdict verdict-${kind}`, title }, el("strong", {}, text), el("span", {}, percent));
}

function facts({ search_mode: mode, pass1_entities: entities, hops, total_results: total, took_ms: ms }) {
  const found = [];
  if (mode === "two_pass") found.push(`guided by ${entities.map((entity) => entity.name).join(", ")}`);
  if (hops?.length > 1) found.push(`${total} found, also by names in the first passages`);
  return [...found, `${ms.toFixed(0)} ms`];
}

/** Sentences on what the answer leaves out or does otherwise than asked; hints of an empty answer stand in its place. */
function notices({ results, degraded = [], relaxed = [], excluded = [], hints = [] }) {
  const texts = [
    ...degraded.map((code) => DEGRADED[code] ?? `Left out: ${inWords(code)}.`),
    ...relaxed.map((code) => RELAXED[code] ?? `Not searched as written: ${inWords(code)}.`),
    ...(excluded.length ? [`Passages with ${excluded.join(", ")} are left out.`] : []),
    ...(results.length ? hints : []),
  ];
  return texts.length ? el("ul", { class: "notices" }, texts.map((text) => el("li", { dir: "auto" }, text))) : null;
}
