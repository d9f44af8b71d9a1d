// Shows a listing one page at a time, so that the page stays as small for 10,000 rows as for 50.

import { address } from "./address.js";
import { byId, el, fill } from "./dom.js";
import { changedValues, setValues } from "./forms.js";

/**
 * The listing of a view, which its form selects and its address holds: `load(selected, cursor)` resolves to a page with
 * `next_cursor`, `show(page, number)` shows it, `guard` runs both; `changed` is called when something else is selected.
 */
export class Listing {
  #cursors = [null];
  #at = 0;
  #asked = 0;
  #of = null;

  constructor(view, { load, show, guard, changed = () => {} }) {
    Object.assign(this, { view, load, show, guard, changed, form: byId(`${view}-form`) });
    this.back = el("button", { type: "button", hidden: true, click: () => this.#go(this.#at - 1) }, "Previous");
    this.ahead = el("button", { type: "button", hidden: true, click: () => this.#go(this.#at + 1) }, "Next");
    this.number = el("span", { class: "note", role: "status", "data-stored": "" });
    fill(byId(`${view}-pages`), this.back, this.number, this.ahead);
    this.list = byId(`${view}-list`);
    this.list.addEventListener("focusin", ({ target }) => (this.left = target.hash));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.change();
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.change()));
    this.form.addEventListener("search", ({ target }) => target.value || this.change()); // cleared; Enter submits
    this.form.addEventListener("change", ({ target }) => target.name && target.name !== "query" && this.change());
  }

  /** What the form selects, by name; only what differs from its defaults. */
  get selected() {
    return changedValues(this.form);
  }

  /** Shows what the address selects: the page that was shown if it was listed before, else the first. */
  open(parameters) {
    const isBack = Boolean(parameters) && !document.activeElement.closest("nav");
    if (parameters) setValues(this.form, parameters);
    this.changed(this.selected);
    const of = JSON.stringify(this.selected);
    if (of !== this.#of) [this.#cursors, this.#at] = [[null], 0];
    this.#of = of;
    return this.#go(this.#at, isBack);
  }

  /** Shows what the form selects, and changes the address without a step in the history. */
  change() {
    history.replaceState(null, "", address(this.view, this.selected));
    return this.open();
  }

  /** Loads the page that is shown again. */
  again() {
    return this.#go(this.#at);
  }

  /** Loads and shows a page; where the browser went back, the link that led away has the focus again. */
  #go(at, isBack = false) {
    const own = ++this.#asked;
    return this.guard(async () => {
      const page = await this.load(this.selected, this.#cursors[at]);
      if (own !== this.#asked) return;
      const isBeyond = at > 0 && !Object.values(page).some((rows) => rows?.length);
      if (isBeyond) return this.#go(at - 1);
      this.#at = at;
      this.#cursors[at + 1] = page.next_cursor ?? null;
      this.show(page, at);
      this.#turned(page.next_cursor ?? null);
      if (isBack && document.activeElement.matches("h1, body")) [...this.list.querySelectorAll("a")].find(({ hash }) => hash === this.left)?.focus();
    });
  }

  #turned(next) {
    // A disabled button would lose the focus of the keyboard, and takes none.
    this.back.disabled = this.ahead.disabled = false;
    if (this.ahead === document.activeElement && next === null) this.back.focus();
    if (this.back === document.activeElement && this.#at === 0) this.ahead.focus();
    this.back.disabled = this.#at === 0;
    this.ahead.disabled = next === null;
    this.back.hidden = this.ahead.hidden = this.#at === 0 && next === null;
    const shown = this.list.childElementCount;
    this.number.textContent = shown ? `Page ${(this.#at + 1).toLocaleString("en")}, ${shown} shown` : "";
  }
}
