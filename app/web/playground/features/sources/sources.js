// Filters searches and documents by the name of a source.

import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { addFilter } from "../../page/filters.js";

const names = el("datalist", { id: "source-names" });

for (const form of ["search-form", "documents-form"]) {
  const field = el("input", { form, name: "source", maxlength: "200", spellcheck: "false", list: "source-names", focus: offer });
  byId(form).elements.file_types.before(el("label", {}, "Source ", field));
}
document.body.append(names);
addFilter("source", "source", (source) => ({ source_names: [source] }));

async function offer() {
  try {
    const { sources } = await call("GET", "sources?limit=200");
    fill(names, sources.map(({ name }) => el("option", { value: name })));
  } catch (error) {
    // The field takes any name, and the search says what is wrong with the key.
    if (!(error instanceof Problem)) throw error;
  }
}
