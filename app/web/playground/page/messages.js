// Shows failed calls in words, with the fields that are wrong, and asks before what cannot be undone.

import { Problem, hasKey } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { markInvalid } from "./forms.js";

const PATIENCE_MS = 400;
// Said of an answer without a reason, which is of a proxy.
const UNSAID = "Try again; if it stays so, ask who runs the service.";

/** Runs work whose Problem is shown in a place, which is emptied before, and marked in a form, if it is wanted then. Says there that it lasts. Whether it succeeded. */
export async function guarded(place, work, form = null, isWanted = () => true) {
  const line = el("p", { class: "note waiting", role: "status" }, "Waiting for the service");
  const waiting = setTimeout(() => place.append(line), PATIENCE_MS);
  fill(place);
  if (form) markInvalid(form, []);
  try {
    await work();
    return true;
  } catch (error) {
    if (isWanted()) showProblem(place, error);
    if (form) markInvalid(form, error.errors);
    return false;
  } finally {
    clearTimeout(waiting);
    line.remove();
  }
}

/** The same for work of buttons, which are disabled meanwhile; the one that had the focus of the keyboard keeps it. */
export async function guardedOnce(buttons, place, work, form = null) {
  const focused = buttons.find((button) => button === document.activeElement);
  for (const button of buttons) button.disabled = true;
  const isDone = await guarded(place, work, form);
  for (const button of buttons) button.disabled = false;
  if (document.activeElement === document.body) focused?.focus();
  return isDone;
}

/** Shows what has failed in a place; an error that is no Problem is thrown. A problem is on the page once, where it was last met. */
export function showProblem(place, error) {
  if (!(error instanceof Problem)) throw error;
  const message = error.status === 401 ? keyMessage(error) : problemMessage(error);
  message.dataset.problem = "";
  const same = [...document.querySelectorAll("[data-problem]")].find((other) => other.textContent === message.textContent);
  if (same?.parentElement === place) return; // a screen reader has read it
  same?.remove();
  fill(place, message);
}

/** What is wrong, without the names of fields: for a list of files, where each has a row. */
export function problemText(problem) {
  return problem.errors.map((error) => error.message).join(" ") || problem.detail || problem.title;
}

/** Shows a sentence in a place. */
export function say(place, text) {
  fill(place, el("p", { class: "message" }, text));
}

/** Whether the user confirms; `action` is what the button says. Escape and the other button do not confirm. */
export function confirmed(question) {
  const dialog = byId("confirm");
  for (const [part, text] of Object.entries(question)) byId(`confirm-${part}`).textContent = text;
  dialog.returnValue = "";
  dialog.showModal();
  byId("confirm-cancel").onclick = () => dialog.close();
  byId("confirm-action").onclick = () => dialog.close("confirmed");
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "confirmed"), { once: true }));
}

function problemMessage({ status, title, detail, errors }) {
  const heading = status === 0 ? "No response." : `${title || "The call failed"}.`;
  const fields = errors.map((error) => el("li", {}, el("code", {}, error.field), ": ", error.message));
  const said = fields.length ? [el("strong", {}, "The request was refused:"), el("ul", {}, fields)] : [el("strong", {}, heading), ` ${detail || UNSAID}`];
  return el("div", { class: "message problem", role: "alert" }, said);
}

/** What to do where the service wants a key, or another one. */
function keyMessage(problem) {
  byId("key-menu").hidden = false;
  const enter = () => {
    byId("key-menu").open = true;
    byId("key").focus();
  };
  const [text, action] = hasKey()
    ? ["The service does not accept this key. Check it, or ask for another one.", "Change the key"]
    : ["This service needs a key. Type an API key or the local token; it stays in the memory of this page.", "Enter a key"];
  return el("div", { class: "message", role: "alert", "data-code": problem.code }, el("p", {}, text), el("button", { type: "button", click: enter }, action));
}
