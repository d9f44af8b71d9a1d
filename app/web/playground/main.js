// Wires the page: views, key and keyboard.

import "./features/features.js";
import { showDocument, showNewDocument } from "./document/document.js";
import { listDocuments } from "./documents/documents.js";
import { acceptFiles } from "./documents/uploads.js";
import { listEntities } from "./entities/entities.js";
import { current, entitle } from "./page/address.js";
import { call, hasKey, setKey } from "./page/api.js";
import { byId, fill } from "./page/dom.js";
import { guarded } from "./page/messages.js";
import { addedViews } from "./page/parts.js";
import { forgetSearch, showSearch } from "./search/search_view.js";

const VIEWS = {
  search: { title: "Search", show: showSearch },
  document: { title: "Document", show: showDocument, parent: "documents" },
  new: { title: "New document", show: () => showNewDocument(), parent: "documents" },
  documents: { title: "Documents", show: listDocuments },
  entities: { title: "Entities", show: listEntities },
  ...Object.fromEntries(addedViews),
};

async function showView(event) {
  const { view, parameters } = current();
  const chosen = Object.hasOwn(VIEWS, view) ? view : "search";
  const section = byId(`view-${chosen}`);
  const isOpened = section.hidden;
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`).hidden = name !== chosen;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === (VIEWS[chosen].parent ?? chosen)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  entitle((chosen === "search" && parameters.get("query")) || VIEWS[chosen].title);
  fill(byId("access"));
  const shown = VIEWS[chosen].show(parameters, isOpened);
  // Else the keyboard and a screen reader stay where the view was that is left.
  if (event && isOpened && !section.contains(document.activeElement)) section.querySelector("h1")?.focus({ preventScroll: true });
  await shown;
}

function keyChanged(event) {
  setKey(event.target.value);
  byId("key-state").textContent = hasKey() ? "set" : "none";
}

async function keyEntered() {
  if (!hasKey()) return location.reload(); // what it has shown goes with it
  // Another key may be another user's, to whom neither what was shown nor files that wait belong.
  byId("uploads-stop").click();
  forgetSearch();
  for (const place of document.querySelectorAll("[data-stored]")) fill(place);
  for (const bar of document.querySelectorAll(".bulk")) bar.hidden = true;
  if (!(await guarded(byId("access"), () => call("GET", "stats")))) return;
  closeKeyMenu();
  byId("query").focus();
  await showView();
}

/** Shows the last search. */
function toSearch() {
  if (byId("view-search").hidden) location.hash = document.querySelector("nav [data-view=search]").hash;
}

/** Closes the menu of the key. The focus inside of it, which would be lost, goes to what opens it. */
function closeKeyMenu() {
  const menu = byId("key-menu");
  if (menu.open && menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  menu.open = false;
}

byId("key").addEventListener("input", keyChanged);
byId("key").addEventListener("change", keyEntered);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeKeyMenu();
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (document.querySelector(":modal")) return;
  event.preventDefault();
  toSearch();
  byId("query").focus();
  byId("query").select();
});
for (const skip of document.querySelectorAll(".skip")) {
  skip.addEventListener("click", () => {
    toSearch();
    (byId(skip.dataset.target) ?? byId("query")).focus();
  });
}
// Not `hashchange`, which comes after the browser has scrolled to where a view was left, and so has to be shown.
window.addEventListener("popstate", showView);

byId("options").open = matchMedia("(min-width: 60rem)").matches;
acceptFiles((text) => {
  showNewDocument(text);
  location.hash = "#new";
});
showView();
