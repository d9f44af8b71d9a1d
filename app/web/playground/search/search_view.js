// Keeps the search that is shown and the address alike: the address fills the form, and a submitted form sets the address.

import { address, current } from "../page/address.js";
import { byId, fill } from "../page/dom.js";
import { filterChips } from "../page/filters.js";
import { changedValues, setValues } from "../page/forms.js";
import { guarded } from "../page/messages.js";
import { partsOf } from "../page/parts.js";
import { adaptToDepth, showChanged } from "./options.js";
import { clearAnswer, isSearching, search } from "./search.js";
import { showWelcome } from "./welcome.js";

const form = byId("search-form");
let shown = null;
// What had the focus in the answer.
let left = null;

/** Shows the search of the address, unless its answer is shown already; without a query where to begin, or what stands in the way. */
export async function showSearch(parameters, isOpened) {
  if (isOpened) showParts();
  if (location.hash === shown && (isSearching() || byId("answer").querySelector(":scope > :not([data-problem])"))) return isOpened && returnToAnswer();
  const typed = shown === null ? form.elements.query.value : "";
  setValues(form, parameters);
  if (form.elements.query.value) return start();
  form.elements.query.value = typed; // before the page was ready
  remember();
  clearAnswer();
  showControls();
  showParts();
  const isWanted = () => shown === location.hash && !current().parameters.get("query");
  await guarded(byId("access"), () => showWelcome(isWanted));
}

/** Shows no answer, so that the search is shown anew, for instance with another key. */
export function forgetSearch() {
  shown = null;
  clearAnswer();
  showParts();
}

/** Begins a search with what the form holds, unless it runs already: Enter in a field changes it and submits the form. */
function submit() {
  const wanted = address("search", changedValues(form));
  if (wanted === shown && isSearching()) return;
  if (location.hash === wanted) start();
  else location.hash = wanted;
}

function changed() {
  if (current().parameters.get("query")) return submit();
  showControls();
  showParts();
}

async function start() {
  remember();
  showControls();
  await search();
  showParts();
}

function remember() {
  shown = location.hash;
  document.querySelector("nav [data-view=search]").href = shown || "#search";
}

function showControls() {
  adaptToDepth(form);
  showChanged(form, changedValues(form));
  fill(byId("chosen"), filterChips(form));
}

function showParts() {
  if (byId("options").open) partsOf("options", form);
}

/** Goes on where the answer was left, unless the link of the view is followed. */
function returnToAnswer() {
  if (!document.activeElement.closest("nav")) left?.focus({ preventScroll: true });
}

/** Moves from the field to the hits, from one to the next, and back; not while an input method chooses characters. */
function walk(event) {
  const step = !event.isComposing && { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [form.elements.query, ...byId("answer").querySelectorAll(".card h3 a")].filter((stop) => stop.checkVisibility());
  const next = step && stops.includes(event.target) && stops[stops.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

byId("view-search").addEventListener("keydown", walk);
byId("answer").addEventListener("focusin", ({ target }) => (left = target));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
byId("view-search").addEventListener("change", ({ target }) => target.form === form && target.name && target.name !== "query" && changed());
byId("options-reset").addEventListener("click", () => {
  setValues(form, new URLSearchParams({ query: form.elements.query.value }));
  changed();
});
byId("options").addEventListener("toggle", showParts);
