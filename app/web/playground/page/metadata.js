// Shows metadata: strings as they are, other values as JSON.

import { el } from "./dom.js";

/** Keys and values as a list, or null without any. */
export function metadataList(metadata) {
  const entries = Object.entries(metadata);
  if (!entries.length) return null;
  return el("dl", { class: "metadata" }, entries.map(([key, value]) => el("div", {}, el("dt", { dir: "auto" }, key), el("dd", { dir: "auto" }, text(value)))));
}

function text(value) {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
