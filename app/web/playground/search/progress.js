// Shows that a search takes long, and for how long.

import { byId, el, fill } from "../page/dom.js";

const PATIENCE_MS = 400;

/** Shows a line after a moment, with a button that calls `cancel`. Returns what removes the line. */
export function progressLine(place, cancel) {
  const started = performance.now();
  const time = el("span", { class: "note", "aria-hidden": "true" });
  const tick = () => (time.textContent = `${Math.round((performance.now() - started) / 1000)} s`);
  let ticking = null;
  const begin = () => {
    fill(place, el("div", { class: "progress" }, el("progress", { "aria-label": "Searching" }), el("span", {}, "Searching"), time, el("button", { type: "button", click: cancel }, "Cancel")));
    byId("status").textContent = "Searching";
    tick();
    ticking = setInterval(tick, 1000);
  };
  const waiting = setTimeout(begin, PATIENCE_MS);
  return () => {
    clearTimeout(waiting);
    clearInterval(ticking);
    fill(place);
  };
}
