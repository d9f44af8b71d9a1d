// Asks why a document is not in an answer, and shows where it stands, what keeps it out and what would help.

import { call } from "../../page/api.js";
import { el, factLine, fill, inWords } from "../../page/dom.js";
import { guardedOnce } from "../../page/messages.js";
import { addPart } from "../../page/parts.js";

const LEGS = { vector: "by meaning", text: "by words" };

addPart("answer", whyNotPanel);

/** A panel that asks about a URI for the request of an answer. */
function whyNotPanel(request) {
  const input = el("input", { type: "text", id: "why-uri", maxlength: "2000", required: true, spellcheck: "false", placeholder: "notes/lime.md" });
  const result = el("div", { role: "status" });
  const button = el("button", { type: "submit" }, "Explain");
  const submit = (event) => {
    event.preventDefault();
    guardedOnce([button], result, async () => fill(result, placement(await call("POST", "search/why", { body: { ...request, uri: input.value.trim() } }))));
  };
  const form = el("form", { class: "fields", submit }, el("label", {}, "Path or URI of a stored document", input), button);
  const summary = el("summary", {}, "Why not? ", el("span", { class: "note" }, "Ask about a document that you expected here"));
  return el("details", { class: "panel one-column why-not" }, summary, el("div", { class: "fold-body" }, form, result));
}

function placement(found) {
  const kept = found.kept_out_by ?? "";
  const verdict = { class: `badge badge-${found.found ? "yes" : "no"}`, "data-kept-out-by": kept };
  return el(
    "div",
    { class: "placement fold-body" },
    el("p", {}, el("strong", verdict, found.found ? "In the answer" : `Kept out by ${inWords(kept)}`)),
    el("p", { class: "placement-reason" }, found.reason),
    found.change ? el("p", {}, "What would help: ", el("code", {}, JSON.stringify(found.change))) : null,
    factLine(found.title, Object.entries(found.legs).map(inLeg), found.steps.map(moved)),
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
