// Runs a search and shows its answer.

import { call, hasKey, origin } from "../page/api.js";
import { amount, byId, el, fill } from "../page/dom.js";
import { markInvalid } from "../page/forms.js";
import { guardedOnce, showProblem } from "../page/messages.js";
import { partsOf } from "../page/parts.js";
import { hopGraph } from "./graph.js";
import { hitCard } from "./hits.js";
import { readRequest } from "./options.js";
import { announcement, answerHead, isAnswerUnlikely } from "./summaries.js";

const PATIENCE_MS = 400;
let running = null;

/** Searches with the form's values; a search that still runs is cancelled. */
export async function search() {
  const form = byId("search-form");
  stop();
  const own = (running = { controller: new AbortController(), ended: progressLine() });
  byId("answer").setAttribute("aria-busy", "true");
  markInvalid(form, []);
  try {
    const request = readRequest(form);
    const found = await call("POST", "search", { body: request, signal: own.controller.signal });
    if (running === own) show(found, request);
  } catch (error) {
    if (error.name === "AbortError" || running !== own) return;
    byId("status").textContent = "";
    showProblem(byId("answer"), error);
    markInvalid(form, error.errors);
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

function stop() {
  running?.controller.abort();
  running?.ended();
  running = null;
  byId("answer").removeAttribute("aria-busy");
}

/** Shows after a moment that a search runs. Returns what removes that. */
function progressLine() {
  const place = byId("progress");
  const waiting = setTimeout(() => {
    fill(place, el("progress", { "aria-label": "Searching" }), "Searching", el("button", { type: "button", click: cancelled }, "Cancel"));
    byId("status").textContent = "Searching";
  }, PATIENCE_MS);
  return () => {
    clearTimeout(waiting);
    fill(place);
  };
}

function cancelled() {
  stop();
  byId("status").textContent = "Search cancelled";
  const again = el("button", { type: "button", click: search }, "Search again");
  fill(byId("answer"), el("div", { class: "message" }, el("p", {}, "The search was cancelled."), again));
  again.focus();
}

function show(found, request) {
  const explained = explanationOf(request);
  const list = el("ol", { class: "cards", "aria-label": "Passages" });
  addCards(list, found, request.query, explained);
  const more = found.next_cursor ? moreButton(found, request, list) : null;
  fill(
    byId("answer"),
    answerHead(found),
    isAnswerUnlikely(found) ? folded(list, more) : [found.results.length ? list : nothing(found), more],
    hopGraph(found, request.query),
    partsOf("answer", request),
    requestPanel(request),
  );
  byId("status").textContent = announcement(found);
}

/** What resolves to the explained answer to a request: it is asked for at the first call, and again after a failure. */
function explanationOf(request) {
  let asked = null;
  return () => {
    asked ??= call("POST", "search", { body: { ...request, explain: true } });
    asked.catch(() => (asked = null));
    return asked;
  };
}

function addCards(list, answer, query, explained) {
  const first = list.childElementCount + 1;
  list.append(...answer.results.map((hit, index) => hitCard(hit, first + index, { answer, query, explained })));
}

function moreButton(found, request, list) {
  const next = { ...request, cursor: found.next_cursor };
  const button = el("button", { type: "button", class: "more" }, "More passages");
  const failed = el("div");
  button.addEventListener("click", async () => {
    const shown = list.childElementCount;
    const isDone = await guardedOnce([button], failed, async () => {
      const page = await call("POST", "search", { body: next });
      addCards(list, page, request.query, explanationOf({ ...next }));
      next.cursor = page.next_cursor;
      if (list.isConnected) byId("answer-title").textContent = byId("status").textContent = amount(list.childElementCount, "passage");
      button.hidden = page.next_cursor === null;
    });
    // To the first that was added, unless the focus is elsewhere by now.
    if (isDone && [button, document.body].includes(document.activeElement)) list.children[shown]?.querySelector("h3 a").focus();
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

/** A panel with the request as a curl command. The key is named by a variable, never written out. */
function requestPanel(request) {
  const key = hasKey() ? ` \\\n  -H "Authorization: Bearer $STEPWELL_API_KEY"` : "";
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  const command = `curl -s ${origin}/api/rag/search -H 'Content-Type: application/json'${key} -d '${body}'`;
  return el("details", { class: "panel" }, el("summary", {}, "This request as a command"), el("div", { class: "fold-body" }, el("textarea", { readonly: true, rows: command.split("\n").length + 2, spellcheck: "false", "aria-label": "curl" }, command)));
}
