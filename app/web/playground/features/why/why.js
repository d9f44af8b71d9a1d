// Asks why a document is not in an answer, and shows where it stands, what keeps it out and what would help.

import { call, hasKey } from "../../page/api.js";
import { el, fill, inWords } from "../../page/dom.js";
import { addPart, addStyle } from "../../page/parts.js";
import { keyMessage, problemMessage } from "../../page/problems.js";

const LEGS = { vector: "by meaning", text: "by words" };

addStyle("./why.css", import.meta.url);
addPart("answer", whyNotPanel);

/** A panel that asks about a URI for the request of an answer. */
function whyNotPanel(request) {
  const input = el("input", { type: "text", id: "why-uri", maxlength: "2000", required: true, spellcheck: "false", placeholder: "notes/lime.md" });
  const result = el("div", { class: "why-result", role: "status" });
  const form = el(
    "form",
    { class: "why-form" },
    el("label", { for: "why-uri" }, "Path or URI of a stored document"),
    el("div", { class: "why-row" }, input, el("button", { type: "submit" }, "Explain")),
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
  const facts = [found.title, ...Object.entries(found.legs).map(inLeg), ...found.steps.map(moved)];
  return el(
    "div",
    { class: "placement" },
    el(
      "p",
      { class: `verdict verdict-${found.found ? "yes" : "no"}`, "data-kept-out-by": found.kept_out_by ?? "" },
      el("strong", {}, found.found ? "In the answer" : `Kept out by ${inWords(found.kept_out_by)}`),
    ),
    el("p", { class: "placement-reason" }, found.reason),
    found.change ? el("p", {}, "What would help: ", el("code", {}, JSON.stringify(found.change))) : null,
    el("p", { class: "facts" }, facts.map((fact) => el("span", {}, fact))),
  );
}

function inLeg([leg, place]) {
  const rank = place.rank == null ? "no rank" : `number ${place.rank}`;
  const score = place.score == null ? "" : `, score ${place.score.toFixed(3)}`;
  return `${rank} ${LEGS[leg]}${score}${place.is_candidate ? "" : ", no candidate"}`;
}

function moved(step) {
  return `${inWords(step.step)} from ${step.rank_before} to ${step.rank_after}`;
}
