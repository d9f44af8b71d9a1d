// Asks before something is done that cannot be undone.

import { byId } from "./dom.js";

/** Whether the user confirms; `action` is what the button says. Escape and the other button do not confirm. */
export function confirmed({ title, text, action }) {
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-action").textContent = action;
  dialog.returnValue = "";
  dialog.showModal();
  byId("confirm-cancel").onclick = () => dialog.close();
  byId("confirm-action").onclick = () => dialog.close("confirmed");
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "confirmed"), { once: true }));
}
