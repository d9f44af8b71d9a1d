// Filters the list of documents by a value of a key of metadata.

import { call } from "../../page/api.js";
import { byId, el } from "../../page/dom.js";
import { choose, valueText } from "../../page/filters.js";
import { offer } from "../../page/form_values.js";
import { addPart } from "../../page/parts.js";
import { guarded } from "../../page/problems.js";

const form = byId("documents-form");
const key = el("select", { id: "documents-key" }, el("option", { value: "" }, "Any metadata"));
const value = el("select", { id: "documents-value", disabled: true }, el("option", { value: "" }, "Choose a value"));

form.elements.file_types.parentElement.after(el("label", {}, "Key of metadata ", key), el("label", {}, "Value ", value));
key.addEventListener("change", () => guarded(byId("documents-message"), offerValues));
value.addEventListener("change", chooseValue);
addPart("documents", async () => {
  const { facets } = await call("GET", "facets?limit=0");
  offer(key, "Any metadata", facets.map((facet) => [facet.key, counted(facet.key, facet.documents)]));
});

async function offerValues() {
  value.disabled = !key.value;
  const found = key.value ? (await call("GET", `facets?${new URLSearchParams({ key: key.value, limit: 100 })}`)).facets[0] : null;
  offer(value, "Choose a value", (found?.values ?? []).map((one) => [JSON.stringify(one.value), counted(valueText(one.value), one.documents)]));
}

/** Adds the chosen value to the filters of the list. */
function chooseValue() {
  if (!value.value) return;
  const chosen = JSON.parse(value.value);
  value.value = "";
  choose(form, key.value, chosen, true);
}

function counted(text, documents) {
  return `${text} (${documents.toLocaleString("en")})`;
}
