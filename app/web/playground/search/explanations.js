// Asks again for an answer with its explanation, once, when a part of it is opened.

import { call } from "../page/api.js";
import { el, fill } from "../page/dom.js";
import { showProblem } from "../page/problems.js";

/** The explained answer to a request: it is asked for at the first call, and again after a failure. */
export function explanationOf(request) {
  let asked = null;
  return () => {
    asked ??= call("POST", "search", { body: { ...request, explain: true } });
    asked.catch(() => (asked = null));
    return asked;
  };
}

/** A fold that shows what `write` makes of the explained answer. */
export function explainedFold(title, name, explained, write) {
  const body = el("div", { class: "fold-body" });
  const details = el("details", { class: name }, el("summary", {}, title), body);
  details.addEventListener("toggle", async () => {
    if (!details.open || body.dataset.isExplained) return;
    fill(body, el("p", { class: "note", role: "status" }, "Explaining"));
    try {
      fill(body, write(await explained()));
      body.dataset.isExplained = "";
    } catch (error) {
      showProblem(body, error);
    }
  });
  return details;
}
