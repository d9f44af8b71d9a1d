// Keeps which documents are selected, across the pages of a list, and shows that above it.

import { el, fill } from "./dom.js";

/** The selected documents of a list: a Set of ids. `choose` lists all ids, `remove` deletes those of a selection. */
export class Selection {
  ids = new Set();
  #last = null;

  constructor({ bar, list, choose, remove }) {
    Object.assign(this, { bar, list });
    this.page = el("input", { type: "checkbox", id: "documents-all" });
    this.page.addEventListener("change", () => this.#setAll(this.page.checked));
    this.count = el("span", { role: "status" });
    this.all = el("button", { type: "button", click: choose }, "Select all that match");
    this.none = el("button", { type: "button", click: () => this.clear() }, "Clear selection");
    this.remove = el("button", { type: "button", class: "danger", click: () => remove() }, "Delete selected");
    fill(bar, el("label", { class: "check" }, this.page, "Select this page"), this.count, this.all, this.none, this.remove);
    this.show();
  }

  /** The box of a row. With Shift it sets all boxes from the last one on. */
  box(id, name) {
    const box = el("input", { type: "checkbox", checked: this.ids.has(id), value: id, "aria-label": `Select ${name}` });
    box.addEventListener("click", (event) => {
      const boxes = this.#boxes();
      const [from, to] = [boxes.indexOf(this.#last), boxes.indexOf(box)].sort((one, other) => one - other);
      for (const one of event.shiftKey && from >= 0 ? boxes.slice(from, to + 1) : [box]) this.#set(one, box.checked);
      this.#last = box;
      this.show();
    });
    return box;
  }

  clear() {
    this.ids.clear();
    for (const box of this.#boxes()) box.checked = false;
    this.show();
  }

  /** Selects documents of any page. */
  add(ids) {
    for (const id of ids) this.ids.add(id);
    for (const box of this.#boxes()) box.checked = this.ids.has(box.value);
    this.show();
  }

  /** Shows how many documents are selected. */
  show() {
    const boxes = this.#boxes();
    const chosen = boxes.filter((box) => box.checked).length;
    this.bar.hidden = !boxes.length && !this.ids.size;
    this.page.checked = boxes.length > 0 && chosen === boxes.length;
    this.page.indeterminate = chosen > 0 && chosen < boxes.length;
    this.count.textContent = this.ids.size ? `${this.ids.size.toLocaleString("en")} selected` : "";
    this.none.hidden = this.remove.hidden = !this.ids.size;
    this.all.hidden = !chosen;
  }

  #boxes() {
    return [...this.list.querySelectorAll("input[type=checkbox]")];
  }

  #setAll(isChosen) {
    for (const box of this.#boxes()) this.#set(box, isChosen);
    this.show();
  }

  #set(box, isChosen) {
    box.checked = isChosen;
    if (isChosen) this.ids.add(box.value);
    else this.ids.delete(box.value);
  }
}
