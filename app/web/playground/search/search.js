// Runs a search and shows its answer.

import { call } from "../page/api.js";
import { byId, el, fill } from "../page/dom.js";
import { explanationOf } from "./explanations.js";
import { hopGraph } from "./graph.js";
import { hitCard } from "./hits.js";
import { markInvalid, readRequest } from "./options.js";
import { partsOf } from "../page/parts.js";
import { showProblem } from "../page/problems.js";
import { progressLine } from "./progress.js";
import { requestPanel } from "./requests.js";
import { announcement, answerHead, isAnswerUnlikely, searchedPanel } from "./summaries.js";

let running = null;

/** Searches with the form's values; a search that still runs is cancelled. */
export async function search() {
  const form = byId("search-form");
  const answer = byId("answer");
  stop();
  const own = (running = { controller: new AbortController() });
  own.ended = progressLine(byId("progress"), cancelled);
  answer.setAttribute("aria-busy", "true");
  markInvalid(form, []);
  try {
    const request = readRequest(form);
    const found = await call("POST", "search", { body: request, signal: own.controller.signal });
    if (running === own) show(found, request);
  } catch (error) {
    if (error.name !== "AbortError" && running === own) showFailure(error, form);
  } finally {
    if (running === own) stop();
  }
}

/** Whether a search runs. */
export function isSearching() {
  return running !== null;
}

/** Shows no answer; a search that still runs is cancelled. */
export function clearAnswer() {
  stop();
  fill(byId("answer"));
}

function cancelled() {
  stop();
  byId("status").textContent = "Search cancelled";
  const again = el("button", { type: "button", click: search }, "Search again");
  fill(byId("answer"), el("div", { class: "message" }, el("p", {}, "The search was cancelled."), again));
  again.focus();
}

function stop() {
  running?.controller.abort();
  running?.ended();
  running = null;
  byId("answer").removeAttribute("aria-busy");
}

function show(found, request) {
  const explained = explanationOf(request);
  const list = el("ol", { class: "cards", "aria-label": "Passages" });
  addCards(list, found, request.query, explained);
  const more = found.next_cursor ? moreButton(found, request, list) : null;
  fill(
    byId("answer"),
    answerHead(found),
    ...(isAnswerUnlikely(found) ? [folded(list, more)] : [found.results.length ? list : nothing(found), more]),
    hopGraph(found, request.query),
    searchedPanel(explained),
    ...partsOf("answer", request),
    requestPanel(request),
  );
  byId("status").textContent = announcement(found);
}

function addCards(list, answer, query, explained) {
  const first = list.childElementCount + 1;
  list.append(...answer.results.map((hit, index) => hitCard(hit, first + index, { answer, query, explained })));
}

function moreButton(found, request, list) {
  let cursor = found.next_cursor;
  const button = el("button", { type: "button", class: "more" }, "More passages");
  const failed = el("div");
  button.addEventListener("click", async () => {
    button.disabled = true;
    fill(failed);
    try {
      const next = { ...request, cursor };
      const page = await call("POST", "search", { body: next });
      addCards(list, page, request.query, explanationOf(next));
      cursor = page.next_cursor;
      byId("status").textContent = `${page.results.length} more passages`;
      button.hidden = cursor === null;
    } catch (error) {
      showProblem(failed, error);
    } finally {
      button.disabled = false;
    }
  });
  return el("div", {}, button, failed);
}

/** The hits of an answer that probably has none, behind a line that says so. */
function folded(list, more) {
  const count = list.childElementCount;
  const text = count === 1 ? "Show the nearest passage" : `Show the ${count} nearest passages`;
  return el("details", { class: "weak" }, el("summary", {}, text), list, more);
}

function nothing({ hints = ["Nothing matches: remove required words or quotes, or ask in other words."] }) {
  return el("div", { class: "message" }, hints.map((line) => el("p", { dir: "auto" }, line)));
}

function showFailure(error, form) {
  byId("status").textContent = "";
  showProblem(byId("answer"), error);
  markInvalid(form, error.errors.map((one) => one.field));
}
