// Two buttons that say whether a passage helped, and take it back.

import { call } from "../../page/api.js";
import { byId, el } from "../../page/dom.js";
import { guardedOnce } from "../../page/messages.js";
import { addPart } from "../../page/parts.js";

addPart("card", thumbs);

/** The buttons for a hit of a query. A judgement is stored with the query, and by nothing else than these buttons. */
function thumbs(hit, query) {
  const failed = el("div");
  const button = (label, helpful) => {
    const click = (event) => judge(event.currentTarget, helpful);
    return el("button", { type: "button", class: "quiet thumb", "aria-pressed": "false", title: "Stores this judgement with the query", click }, label);
  };
  const buttons = [button("Helpful", true), button("Not helpful", false)];

  async function judge(chosen, helpful) {
    const isTakenBack = chosen.getAttribute("aria-pressed") === "true";
    await guardedOnce(buttons, failed, async () => {
      await call("POST", "feedback", { body: { query, chunk_id: hit.chunk_id, helpful: isTakenBack ? null : helpful } });
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === chosen && !isTakenBack));
      byId("status").textContent = isTakenBack ? "Feedback withdrawn" : "Feedback stored";
    });
  }

  return el("div", { class: "thumbs", role: "group", "aria-label": "Did this passage help?" }, failed, buttons);
}
