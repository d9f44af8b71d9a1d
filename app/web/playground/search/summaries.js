// Draws what holds for a whole answer: whether it answers, what was left out, how it was searched, and how long it took.

import { el, extent } from "../page/dom.js";
import { inWords } from "./hits.js";
import { LIKELY, POSSIBLE } from "../levels.js";

const STAGES = {
  embed: "embedding",
  pass1: "entities",
  pass2: "documents of entities",
  recall: "both legs",
  extract: "names",
  hops: "further hops",
  rerank: "re-ranking",
  recency: "ages",
  mmr: "MMR",
  snippets: "snippets",
};
const RELAXED = {
  constraints_dropped: "quotes and required words were not applied.",
  similar_words: "words of similar spelling were searched for words that no passage contains.",
  nearest_vectors: "no word was found; these are the nearest passages.",
};

const DEGRADED = {
  embedding_failed: "the query could not be embedded.",
  no_query_vector: "only the text leg ran.",
  invalid_expression: "the expression could not be read, so its words were searched.",
  no_text_terms: "the query has no words for the text leg, so only the vector leg ran.",
  llm_failed: "the language model failed, so names were found without it.",
  reranker_failed: "the re-ranker failed, so the order is that of the fusion.",
  hop2_failed: "the second hop failed, so only the first one is shown.",
};
const REASONS = {
  requested: "requested",
  names: "it names things",
  only_names: "it is only names",
  no_names: "no names in it",
  entity: "it is about an entity",
  literal: "a literal query",
  options: "because of other options",
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

/** The stages of a search as one stacked bar, with the milliseconds of each. */
export function timings(answer) {
  const total = Math.max(answer.timings.total ?? answer.took_ms, 0.001);
  const stages = Object.entries(answer.timings).filter(([name]) => name !== "total");
  const known = stages.reduce((sum, [, ms]) => sum + ms, 0);
  const all = [...stages, ["other", Math.max(0, total - known)]];
  const colour = (index) => (index === all.length - 1 ? "stage-other" : `stage-${index % 4}`);
  const scale = Math.max(total, known);
  let before = 0;
  const bars = all.map(([, ms], index) => {
    const bar = extent(el("span", { class: `bar ${colour(index)}` }), before / scale, ms / scale);
    before += ms;
    return bar;
  });
  const rows = all.map(([name, ms], index) =>
    el("div", {}, el("dt", {}, el("span", { class: `dot ${colour(index)}`, "aria-hidden": "true" }), STAGES[name] ?? name), el("dd", {}, `${ms.toFixed(1)} ms`)),
  );
  return el(
    "details",
    { class: "panel" },
    el("summary", {}, "Timings ", el("span", { class: "note" }, `${total.toFixed(0)} ms`)),
    el("div", { class: "panel-body" }, el("div", { class: "track wide", "aria-hidden": "true" }, bars), el("dl", { class: "stages" }, rows)),
  );
}

function count(number) {
  return number === 1 ? "1 passage" : `${number || "No"} passages`;
}

function inVerdict(probability) {
  if (probability >= LIKELY) return ["Answer likely", "yes"];
  return probability >= POSSIBLE ? ["Answer uncertain", "open"] : ["No answer likely", "no"];
}

function verdict(answer) {
  if (answer.answerable == null) return null;
  const percent = `${Math.round(100 * answer.answerable)}%`;
  const [text, kind] = inVerdict(answer.answerable);
  const title = "Probability that any of these passages answers the query";
  return el("p", { class: `verdict verdict-${kind}`, title }, el("strong", {}, text), el("span", {}, percent));
}

function facts(answer) {
  const found = [];
  if (answer.query_type) found.push(`${inWords(answer.query_type)} query`);
  if (answer.fusion) found.push(`${answer.fusion === "rrf" ? "RRF" : answer.fusion} fusion`);
  if (answer.depth_reason && answer.depth_reason !== "requested") {
    found.push(`${answer.depth === "thorough" ? "multi-hop" : "one search"}: ${REASONS[answer.depth_reason]}`);
  }
  if (answer.pass1_entities.length) found.push(`guided by ${answer.pass1_entities.map(entityName).join(", ")}`);
  if (answer.total_results) found.push(`${answer.total_results} found in ${answer.hops.length} hops`);
  found.push(`${answer.took_ms.toFixed(0)} ms`);
  return found;
}

function entityName(entity) {
  return entity.matched_by === "fuzzy" ? `${entity.name} (a similar name)` : entity.name;
}

function notices(answer) {
  const texts = [
    ...answer.degraded.map((code) => `Degraded: ${DEGRADED[code] ?? inWords(code)}`),
    ...answer.relaxed.map((part) => `Relaxed: ${RELAXED[part] ?? inWords(part)}`),
    ...(answer.approximate ? ["Approximate: matching passages may be missing."] : []),
  ];
  if (!texts.length) return null;
  return el("ul", { class: "notices" }, texts.map((text) => el("li", {}, text)));
}
