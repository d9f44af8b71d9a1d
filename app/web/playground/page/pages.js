// Shows a listing one page at a time, so that the page stays as small for 10,000 rows as for 50.

import { el, fill } from "./dom.js";

/** A listing in pages: `load(cursor)` resolves to a page with `next_cursor`, `show(page, number)` shows it, `guard` runs both. */
export class Pages {
  #cursors = [null];
  #at = 0;
  #asked = 0;
  #of = null;

  constructor(nav, { load, show, guard }) {
    Object.assign(this, { nav, load, show, guard });
    this.back = el("button", { type: "button", click: () => this.#go(this.#at - 1) }, "Previous");
    this.ahead = el("button", { type: "button", click: () => this.#go(this.#at + 1) }, "Next");
    this.number = el("span", { class: "note", role: "status" });
    fill(nav, this.back, this.number, this.ahead);
  }

  /** Shows what is listed with these parameters: the page that was shown if they are those of before, else the first. */
  open(parameters) {
    const of = JSON.stringify(parameters);
    if (of === this.#of) return this.again();
    this.#of = of;
    this.#cursors = [null];
    this.#at = 0;
    return this.again();
  }

  /** Loads the page that is shown again. */
  again() {
    return this.#go(this.#at);
  }

  #go(at) {
    const own = ++this.#asked;
    return this.guard(async () => {
      const page = await this.load(this.#cursors[at]);
      if (own !== this.#asked) return;
      const isBeyond = at > 0 && !Object.values(page).some((rows) => rows?.length);
      if (isBeyond) return this.#go(at - 1);
      this.#at = at;
      this.#cursors[at + 1] = page.next_cursor ?? null;
      this.#turned(page.next_cursor ?? null);
      this.show(page, at);
    });
  }

  #turned(next) {
    // A disabled button would lose the focus of the keyboard.
    if (this.ahead === document.activeElement && next === null) this.back.focus();
    if (this.back === document.activeElement && this.#at === 0) this.ahead.focus();
    this.back.disabled = this.#at === 0;
    this.ahead.disabled = next === null;
    this.number.textContent = `Page ${(this.#at + 1).toLocaleString("en")}`;
    this.nav.hidden = this.#at === 0 && next === null;
  }
}
