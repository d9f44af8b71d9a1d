// Two buttons that say whether a passage helped, and take it back.

import { call } from "./api.js";
import { byId, el } from "./dom.js";

const CHOICES = [
  ["👍", "Helpful", true],
  ["👎", "Not helpful", false],
];

/** The buttons for a hit of a query. A judgement is stored with the query, and by nothing else than these buttons. */
export function thumbs(hit, query) {
  const note = el("span", { class: "note" });
  const buttons = CHOICES.map(([sign, label, helpful]) =>
    el(
      "button",
      {
        type: "button",
        class: "thumb",
        "aria-label": label,
        "aria-pressed": "false",
        title: `${label}: stores this judgement with the query`,
        click: (event) => judge(event.currentTarget, helpful),
      },
      sign,
    ),
  );

  async function judge(button, helpful) {
    const isTakenBack = button.getAttribute("aria-pressed") === "true";
    buttons.forEach((one) => (one.disabled = true));
    note.textContent = "";
    try {
      const body = { query, chunk_id: hit.chunk_id, helpful: isTakenBack ? null : helpful };
      await call("POST", "feedback", { body });
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button && !isTakenBack));
      byId("status").textContent = isTakenBack ? "Feedback withdrawn" : "Feedback stored";
    } catch (error) {
      if (!("errors" in error)) throw error;
      note.textContent = error.message;
    } finally {
      buttons.forEach((one) => (one.disabled = false));
    }
  }

  return el("div", { class: "thumbs", role: "group", "aria-label": "Did this passage help?" }, note, buttons);
}
