// Completes the URI of a stored document while it is typed.

import { Problem, call } from "../../page/api.js";
import { el, fill, shownUri } from "../../page/dom.js";

const TYPING_MS = 150;
const OFFERED = 10;

/** Offers stored URIs below an input; returns the list, which belongs beside it. */
export function completeUris(input) {
  const list = el("datalist", { id: `${input.id}-uris` });
  input.setAttribute("list", list.id);
  let typing = null;
  const offer = async () => {
    const query = input.value.trim();
    try {
      const { documents } = await call("GET", `documents?${new URLSearchParams({ query, limit: OFFERED })}`);
      if (query !== input.value.trim()) return;
      const uris = documents.filter(({ uri }) => uri);
      fill(list, uris.map(({ uri, title }) => el("option", { value: shownUri(uri) }, title)));
    } catch (error) {
      // Completion is a help: what fails is said when the form is sent.
      if (!(error instanceof Problem)) throw error;
    }
  };
  input.addEventListener("focus", offer, { once: true });
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(offer, TYPING_MS);
  });
  return list;
}
