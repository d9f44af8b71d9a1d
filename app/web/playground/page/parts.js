// Holds what features add to the page, by the place that shows it:
//
// card      an element at the foot of a hit, made of the hit and the query
// answer    a panel below an answer, made of its request
// options   called with the form of a search when its options are shown
// documents called with the form of the list of documents when its filters are shown
// jobs      called when the list of jobs is opened
// job       a link to what a job works on, or null

import { el } from "./dom.js";

const added = new Map();

/** Adds a function to a place. */
export function addPart(place, part) {
  added.set(place, [...(added.get(place) ?? []), part]);
}

/** What the functions of a place return for these values. */
export function partsOf(place, ...values) {
  return (added.get(place) ?? []).map((part) => part(...values));
}

/** Adds a stylesheet whose path is relative to a module. */
export function addStyle(path, module) {
  document.head.append(el("link", { rel: "stylesheet", href: new URL(path, module).href }));
}
