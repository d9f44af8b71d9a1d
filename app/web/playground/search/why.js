// Asks why a document is not in an answer, and shows where it stands in each leg and which step kept it out.

import { call, hasKey } from "../page/api.js";
import { completeUris } from "../page/completion.js";
import { el, fill } from "../page/dom.js";
import { inWords } from "./hits.js";
import { keyMessage, problemMessage } from "../page/problems.js";

const LEGS = { vector: ["Vector leg", "cosine"], text: ["Text leg", "BM25"] };

/** A panel that asks about a URI for the request of an answer. */
export function whyNotPanel(request) {
  const input = el("input", { type: "text", id: "why-uri", maxlength: "2000", required: true, spellcheck: "false", placeholder: "notes/lime.md" });
  const result = el("div", { class: "why-result", role: "status" });
  const form = el(
    "form",
    { class: "why-form" },
    el("label", { for: "why-uri" }, "Path or URI of a stored document"),
    el("div", { class: "why-row" }, input, completeUris(input), el("button", { type: "submit" }, "Explain")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    explain({ ...request, uri: input.value.trim() }, result);
  });
  const summary = el("summary", {}, "Why not? ", el("span", { class: "note" }, "Ask about a document that you expected here"));
  return el("details", { class: "panel why-not" }, summary, el("div", { class: "panel-body" }, form, result));
}

async function explain(request, result) {
  result.setAttribute("aria-busy", "true");
  try {
    fill(result, placement(await call("POST", "search/why", { body: request })));
  } catch (error) {
    if (!("errors" in error)) throw error;
    fill(result, error.wantsKey ? keyMessage(error, hasKey()) : problemMessage(error));
  } finally {
    result.removeAttribute("aria-busy");
  }
}

function placement(found) {
  const kind = found.verdict === "returned" ? "yes" : "no";
  return el(
    "div",
    { class: "placement" },
    el("p", { class: `verdict verdict-${kind}`, "data-verdict": found.verdict }, el("strong", {}, inWords(found.verdict))),
    el("p", { class: "placement-summary" }, found.summary),
    found.chunk ? chunk(found) : null,
    found.legs.length ? legs(found.legs) : null,
    found.steps.length ? steps(found.steps) : null,
  );
}

function chunk(found) {
  const place = found.rank == null ? "no rank" : `number ${found.rank}, limit ${found.limit}`;
  const facts = [place];
  if (found.score != null) facts.push(`score ${found.score.toFixed(3)}`);
  if (found.relevance != null) facts.push(`${Math.round(100 * found.relevance)}% relevant`);
  return el("p", { class: "facts" }, [[found.chunk.title, ...found.chunk.heading_path.slice(1)].join(" › "), ...facts].map((fact) => el("span", {}, fact)));
}

function legs(places) {
  const cells = (leg) => [
    LEGS[leg.leg][0],
    leg.rank == null ? "not found" : `${leg.exact === false ? "at best " : ""}${leg.rank}`,
    leg.candidates,
    leg.score == null ? "–" : `${LEGS[leg.leg][1]} ${leg.score.toFixed(3)}`,
    leg.entry_score == null ? "–" : leg.entry_score.toFixed(3),
  ];
  const head = ["Leg", "Rank", "Candidates", "Score", "Lowest candidate"].map((name) => el("th", { scope: "col" }, name));
  const row = (leg) => {
    const [name, ...rest] = cells(leg);
    return el("tr", {}, el("th", { scope: "row" }, name), rest.map((text) => el("td", {}, String(text))));
  };
  return el("table", { class: "legs" }, el("caption", { class: "visually-hidden" }, "Its place in each leg"), el("thead", {}, el("tr", {}, head)), el("tbody", {}, places.map(row)));
}

function steps(found) {
  const item = (step) =>
    el(
      "li",
      { "data-passed": String(step.passed) },
      el("span", { class: "step-mark", "aria-hidden": "true" }, step.passed ? "✓" : "✕"),
      el("strong", {}, inWords(step.step), el("span", { class: "visually-hidden" }, step.passed ? " (passed)" : " (not passed)")),
      el("span", {}, step.detail),
    );
  return el("ol", { class: "steps", "aria-label": "Steps of the search" }, found.map(item));
}
