// Filters searches and documents by the name of a source, and names the sources that jobs work on.

import { address } from "../../page/address.js";
import { Problem, call } from "../../page/api.js";
import { byId, el, fill } from "../../page/dom.js";
import { addFilter } from "../../page/filters.js";
import { offer } from "../../page/form_values.js";
import { addPart } from "../../page/parts.js";

const names = el("datalist", { id: "source-names" });
const field = el("input", { form: "search-form", name: "source", maxlength: "200", spellcheck: "false", list: "source-names" });
const choice = el("select", { name: "source" }, el("option", { value: "" }, "Any source"));
let known = new Map();

before("search-form", el("label", {}, "Source ", field), names);
before("documents-form", el("label", {}, "Source ", choice));
addFilter("source", "source", (source) => ({ source_names: [source] }));
addPart("documents", async () => offer(choice, "Any source", (await listed()).map(({ name }) => [name, name])));
addPart("jobs", async () => (known = new Map((await listed()).map(({ source_id: id, name }) => [id, name]))));
addPart("job", ({ source_id: id }) => {
  const source = known.get(id);
  return source ? el("a", { href: address("documents", { source }), dir: "auto" }, source) : null;
});
field.addEventListener("focus", async () => {
  try {
    fill(names, (await listed()).map(({ name }) => el("option", { value: name })));
  } catch (error) {
    // The field takes any name, and the search says what is wrong with the key.
    if (!(error instanceof Problem)) throw error;
  }
});

function before(form, ...controls) {
  byId(form).elements.file_types.before(...controls);
}

async function listed() {
  return (await call("GET", "sources?limit=200")).sources;
}
