// Shows failed calls in words, with the fields that are wrong. Each problem is on the page once, where it was last met.

import { Problem, hasKey } from "./api.js";
import { el, fill } from "./dom.js";

/** Runs work whose Problem is shown in a place, which is emptied before. Whether it succeeded. */
export async function guarded(place, work) {
  fill(place);
  try {
    await work();
    return true;
  } catch (error) {
    showProblem(place, error);
    return false;
  }
}

/** Shows what has failed in a place; an error that is no Problem is thrown. */
export function showProblem(place, error) {
  if (!(error instanceof Problem)) throw error;
  fill(place, error.wantsKey ? keyMessage(error, hasKey()) : problemMessage(error));
}

/** A message for a Problem. */
export function problemMessage(problem) {
  const fields = problem.errors.map((error) =>
    el("li", {}, el("code", {}, error.field), ": ", error.message),
  );
  return alone(
    el(
      "div",
      { class: "message problem", role: "alert" },
      el("p", {}, el("strong", {}, heading(problem)), problem.errors.length ? null : ` ${problem.detail || problem.title}`),
      fields.length ? el("ul", {}, fields) : null,
    ),
  );
}

/** What is wrong, without the names of fields: for a list of files, where each has a row. */
export function problemText(problem) {
  return problem.errors.map((error) => error.message).join(" ") || problem.detail || problem.title;
}

/** What to do where the service wants a key. */
export function keyMessage(problem, keyGiven) {
  document.getElementById("key-menu").hidden = false;
  const text = keyGiven
    ? "The service does not accept this key. Check it, or ask for another one."
    : "This service needs a key. Type an API key or the local token; it stays in the memory of this page.";
  const button = el("button", { type: "button", click: openKeyMenu }, keyGiven ? "Change the key" : "Enter a key");
  return alone(el("div", { class: "message", "data-code": problem.code }, el("p", {}, text), button));
}

/** The message, after one of the same words was removed from the page. */
function alone(message) {
  message.dataset.problem = "";
  for (const other of document.querySelectorAll("[data-problem]")) if (other.textContent === message.textContent) other.remove();
  return message;
}

function openKeyMenu() {
  document.getElementById("key-menu").open = true;
  document.getElementById("key").focus();
}

function heading(problem) {
  if (problem.status === 0) return "No response.";
  return problem.errors.length ? "The request was refused:" : `${problem.title || "The call failed"}.`;
}
