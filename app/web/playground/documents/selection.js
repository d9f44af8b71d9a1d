// Shows which documents of the page of a list are selected, above it.

import { el, fill } from "../page/dom.js";

/** The bar above a list of rows with boxes; `remove` is called with the ids that are selected. */
export class Selection {
  constructor({ bar, list, remove }) {
    Object.assign(this, { bar, list });
    this.page = el("input", { type: "checkbox", id: "documents-all" });
    this.page.addEventListener("change", () => {
      for (const box of this.#boxes()) box.checked = this.page.checked;
      this.show();
    });
    this.count = el("span", { role: "status" });
    this.remove = el("button", { type: "button", class: "danger", click: () => remove(this.ids()) }, "Delete selected");
    fill(bar, el("label", { class: "check" }, this.page, "Select this page"), this.count, this.remove);
    list.addEventListener("change", () => this.show());
  }

  /** The ids of the selected documents. */
  ids() {
    return this.#boxes().filter((box) => box.checked).map((box) => box.value);
  }

  /** Shows how many documents are selected. */
  show() {
    const [all, chosen] = [this.#boxes().length, this.ids().length];
    this.bar.hidden = !all;
    this.page.checked = all > 0 && chosen === all;
    this.page.indeterminate = chosen > 0 && chosen < all;
    this.count.textContent = chosen ? `${chosen} selected` : "";
    this.remove.hidden = !chosen;
  }

  #boxes() {
    return [...this.list.querySelectorAll("input[type=checkbox]")];
  }
}
