// A fold that is filled when it is opened.

import { el, fill } from "./dom.js";
import { guarded } from "./messages.js";

/** A fold that shows what `write` resolves to, and asks for it again after a failure. */
export function lazyFold(name, summary, write) {
  const body = el("div", { class: "fold-body" });
  const fold = el("details", { class: name }, el("summary", {}, summary), body);
  let isWritten = false;
  fold.addEventListener("toggle", async () => {
    if (!fold.open || isWritten) return;
    isWritten = await guarded(body, async () => fill(body, await write()));
  });
  return fold;
}
