// Draws what holds for a whole answer: whether it answers, what was left out, and how long it took.

import { amount, el, factLine, inWords } from "../page/dom.js";
import { DEGRADED, LIKELY, POSSIBLE, RELAXED } from "../tables.js";

/** The head of an answer. */
export function answerHead(answer) {
  const { answerable, search_mode: mode, pass1_entities: entities, hops, total_results: total, took_ms: ms } = answer;
  const guide = mode === "two_pass" && `guided by ${entities.map((entity) => entity.name).join(", ")}`;
  const reached = hops?.length > 1 && `${total} found, also by names in the first passages`;
  return el(
    "div",
    { class: "answer-head" },
    el("h2", { tabindex: "-1", id: "answer-title" }, passages(answer)),
    answerable == null ? null : verdict(answerable),
    factLine(guide, reached, `${ms.toFixed(0)} ms`),
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
  return passages(answer) + verdict;
}

function passages({ results: { length } }) {
  return length ? amount(length, "passage") : "No passages";
}

function inVerdict(score) {
  if (score >= LIKELY) return ["Answer likely", "yes"];
  return score >= POSSIBLE ? ["Answer uncertain", "open"] : ["No answer likely", "no"];
}

function verdict(answerable) {
  const [text, kind] = inVerdict(answerable);
  const title = "Score, 0 to 1, of whether any of these passages answers the query";
  return el("p", { class: `verdict badge badge-${kind}`, title }, el("strong", {}, text), ` ${answerable.toFixed(2)}`);
}

/** Sentences on what the answer leaves out or does otherwise than asked; hints of an empty answer stand in its place. */
function notices({ results, degraded = [], relaxed = [], excluded = [], hints = [] }) {
  const texts = [
    ...degraded.map((code) => DEGRADED[code] ?? `Left out: ${inWords(code)}.`),
    ...relaxed.map((code) => RELAXED[code] ?? `Not searched as written: ${inWords(code)}.`),
    ...(excluded.length ? [`Passages with ${excluded.join(", ")} are left out.`] : []),
    ...(results.length ? hints : []),
  ];
  return texts.length ? el("ul", { class: "notices" }, texts.map((text) => el("li", { class: "message", dir: "auto" }, text))) : null;
}
