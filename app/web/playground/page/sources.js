// Suggests the names of sources in the field that filters by one.

import { Problem, call } from "./api.js";
import { byId, el, fill } from "./dom.js";

const MOST = 200;

/** Loads the names when the field is entered. */
export function suggestSources(field) {
  field.addEventListener("focus", async () => {
    try {
      const page = await call("GET", `sources?limit=${MOST}`);
      fill(byId("source-names"), page.sources.map(({ name }) => el("option", { value: name })));
    } catch (error) {
      // The field takes any name, and the search says what is wrong with the key.
      if (!(error instanceof Problem)) throw error;
    }
  });
}
