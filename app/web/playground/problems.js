// Shows failed calls in words, with the fields that are wrong.

import { el } from "./dom.js";

/** A message for a Problem. */
export function problemMessage(problem) {
  const fields = problem.errors.map((error) =>
    el("li", {}, el("code", {}, error.field), ": ", error.message),
  );
  return el(
    "div",
    { class: "message problem", role: "alert" },
    el("p", {}, el("strong", {}, heading(problem)), problem.errors.length ? null : ` ${problem.detail || problem.title}`),
    fields.length ? el("ul", {}, fields) : null,
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
  return el("div", { class: "message", "data-code": problem.code }, el("p", {}, text), button);
}

function openKeyMenu() {
  document.getElementById("key-menu").open = true;
  document.getElementById("key").focus();
}

function heading(problem) {
  if (problem.status === 0) return "No response.";
  return problem.errors.length ? "The request was refused:" : `${problem.title || "The call failed"}.`;
}
