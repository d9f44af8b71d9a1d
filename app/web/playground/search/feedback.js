// Two buttons that say whether a passage helped, and take it back.

import { call } from "../page/api.js";
import { byId, el, svg } from "../page/dom.js";

const THUMB = "M7 10v10H4V10zM7 11l4-8c2 0 3 1 2.6 3L13 9h5.5a2 2 0 0 1 2 2.3l-1.2 7a2 2 0 0 1-2 1.7H7";
const CHOICES = [
  ["up", "Helpful", true],
  ["down", "Not helpful", false],
];

/** The buttons for a hit of a query. A judgement is stored with the query, and by nothing else than these buttons. */
export function thumbs(hit, query) {
  const note = el("span", { class: "note" });
  const buttons = CHOICES.map(([way, label, helpful]) =>
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
      thumb(way),
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

/** A drawn thumb: not every system has a font with one. */
function thumb(way) {
  return svg("svg", { class: `thumb-${way}`, viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" }, svg("path", { d: THUMB }));
}
