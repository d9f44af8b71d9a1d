// Filters searches and documents by the name of a source, and names the sources that jobs work on.

import { address } from "../../page/address.js";
import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { addFilter } from "../../page/filters.js";
import { addPart } from "../../page/parts.js";

const names = el("datalist", { id: "source-names" });
let known = new Map();

for (const form of ["search-form", "documents-form"]) {
  const field = el("input", { form, name: "source", maxlength: "200", spellcheck: "false", list: "source-names", focus: offer });
  byId(form).elements.file_types.before(el("label", {}, "Source ", field));
}
document.body.append(names);
addFilter("source", "source", (source) => ({ source_names: [source] }));
addPart("jobs", async () => (known = new Map((await listed()).map(({ source_id: id, name }) => [id, name]))));
addPart("job", ({ source_id: id }) => known.has(id) && el("a", { href: address("documents", { source: known.get(id) }), dir: "auto" }, known.get(id)));

async function offer() {
  try {
    fill(names, (await listed()).map(({ name }) => el("option", { value: name })));
  } catch (error) {
    // The field takes any name, and the search says what is wrong with the key.
    if (!(error instanceof Problem)) throw error;
  }
}

async function listed() {
  return (await call("GET", "sources?limit=200")).sources;
}
