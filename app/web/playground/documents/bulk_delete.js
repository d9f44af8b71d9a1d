// Deletes many documents in batches, and shows how far it is, what could not be deleted and why.

import { Problem, call } from "../page/api.js";
import { confirmed } from "../page/confirm.js";
import { el, fill } from "../page/dom.js";
import { problemText } from "../page/problems.js";
import { timeLeft } from "../page/rates.js";

const BATCH = 50;

/** Asks, then deletes; the ids that are gone leave `ids`, so that the others can be tried again. Returns whether any was sent. */
export async function deleteMany(ids, place) {
  const total = ids.size;
  const what = total === 1 ? "1 document" : `${total.toLocaleString("en")} documents`;
  const text = `${what} with their chunks are removed for good.`;
  if (!(await confirmed({ title: `Delete ${what}?`, text, action: `Delete ${what}` }))) return false;
  const bar = new DeletionBar(place, total);
  const reasons = new Map();
  let deleted = 0;
  for (const batch of batches([...ids])) {
    if (bar.isStopped) break;
    try {
      deleted += (await call("POST", "documents/delete", { body: { filters: { document_ids: batch } } })).documents_deleted;
      for (const id of batch) ids.delete(id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const reason = problemText(error);
      reasons.set(reason, (reasons.get(reason) ?? 0) + batch.length);
      // Another batch would be refused for the same reason.
      if (error.status === 0 || [401, 403].includes(error.status)) break;
    }
    bar.at(total - ids.size);
  }
  fill(place, outcome({ total, deleted, left: ids.size, reasons }));
  return true;
}

function* batches(ids) {
  for (let start = 0; start < ids.length; start += BATCH) yield ids.slice(start, start + BATCH);
}

/** What was deleted and what was not, in words. */
function outcome({ total, deleted, left, reasons }) {
  const number = (value) => value.toLocaleString("en");
  const gone = total - left - deleted;
  const sentences = [`${number(deleted)} of ${number(total)} deleted.`];
  if (gone) sentences.push(`${number(gone)} ${gone === 1 ? "was" : "were"} gone already.`);
  if (left) sentences.push(`${number(left)} ${left === 1 ? "is" : "are"} still stored and still selected.`);
  const items = [...reasons].map(([reason, documents]) => el("li", {}, `${number(documents)} not deleted: ${reason}`));
  const kind = items.length ? "message problem" : "message";
  return el("div", { class: kind, role: items.length ? "alert" : null, tabindex: "-1" }, el("p", {}, sentences.join(" ")), items.length ? el("ul", {}, items) : null);
}

class DeletionBar {
  isStopped = false;

  constructor(place, total) {
    this.total = total;
    this.started = performance.now();
    this.bar = el("progress", { max: String(total), value: "0", "aria-label": "Progress of the deletion" });
    this.text = el("span", {});
    const stop = el("button", { type: "button", click: () => (this.isStopped = true) }, "Stop");
    fill(place, el("div", { class: "message working" }, this.text, this.bar, stop));
    this.at(0);
    stop.focus();
  }

  at(done) {
    this.bar.value = done;
    const left = timeLeft(done, this.total, (performance.now() - this.started) / 1000);
    this.text.textContent = [`${done.toLocaleString("en")} of ${this.total.toLocaleString("en")} deleted`, left].filter(Boolean).join(", ");
  }
}
