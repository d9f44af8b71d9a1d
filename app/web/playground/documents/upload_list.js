// Lists uploads in their order. Of a long list those that are stored make room for those that wait.

import { byId, el, fill } from "../page/dom.js";

const MOST = 100;
let waiting = [];

/** Adds an upload to the end of the list. */
export function addUpload(name) {
  const row = new UploadRow(name);
  waiting.push(row);
  showWaiting();
  return row;
}

/** Removes what has ended. */
export function clearUploads() {
  for (const item of byId("uploads").querySelectorAll("[data-state]")) item.remove();
  showWaiting();
}

function showWaiting() {
  const list = byId("uploads");
  while (waiting.length && list.childElementCount < MOST) list.append(waiting.shift().item);
  byId("uploads-waiting").textContent = waiting.length ? `${waiting.length.toLocaleString("en")} more wait.` : "";
}

class UploadRow {
  constructor(name) {
    this.name = name;
    this.bar = el("progress", { max: "1", value: "0", "aria-label": `Progress of ${name}` });
    this.text = el("span", { class: "note" }, "Waiting");
    this.item = el("li", { class: "row" }, el("div", { class: "row-text" }, el("strong", { dir: "auto" }, name), this.text), this.bar);
  }

  /** Begins: a row that waits beyond the end of the list is shown now. */
  begin() {
    if (!this.item.isConnected) {
      waiting = waiting.filter((row) => row !== this);
      byId("uploads").append(this.item);
    }
    this.says("Sending");
  }

  says(text) {
    this.text.textContent = text;
  }

  at(share, text) {
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    this.says(text);
  }

  /** Ends as stored, with the nodes that say so. */
  done(...nodes) {
    this.bar.value = 1;
    fill(this.text, ...nodes);
    this.#ended("done");
  }

  failed(text, stored = 0) {
    const others = stored === 1 ? "1 document is stored. " : `${stored.toLocaleString("en")} documents are stored. `;
    this.says(`${stored ? others : ""}Not stored: ${text}`);
    this.#ended("failed");
  }

  #ended(state) {
    this.item.dataset.state = state;
    if (byId("uploads").childElementCount >= MOST && waiting.length) byId("uploads").querySelector("[data-state]").remove();
    showWaiting();
  }
}
