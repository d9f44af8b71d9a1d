// Holds what features add to the page, by the place that shows it:
//
// card      an element at the foot of a hit, made of the hit and the query
// answer    a panel below an answer, made of its request
// options   called with the form of a search when its options are shown
// documents called with the form of the list of documents when its filters are shown
//
// and the views that they add.

import { byId, el } from "./dom.js";

const added = new Map();

/** The titles of the added views, and what shows them, by name. */
export const addedViews = new Map();

/** Adds a view with a link in the navigation, before that to the API; `show` is called when it is opened. Returns its section. */
export function addView(name, title, show) {
  const section = el("section", { id: `view-${name}`, "aria-labelledby": `${name}-title`, hidden: true }, el("h1", { id: `${name}-title`, tabindex: "-1" }, title));
  document.querySelector("nav [href='docs']").before(el("a", { href: `#${name}`, "data-view": name }, title));
  byId("view-entities").after(section);
  addedViews.set(name, { title, show });
  return section;
}

/** Adds a function to a place. */
export function addPart(place, part) {
  added.set(place, [...(added.get(place) ?? []), part]);
}

/** What the functions of a place return for these values. */
export function partsOf(place, ...values) {
  return (added.get(place) ?? []).map((part) => part(...values));
}
