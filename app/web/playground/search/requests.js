// Writes a request as a curl command and as Python for stepwell-client. Keys are named by a variable, never written out.

import { hasKey, origin } from "../page/api.js";
import { copyButton, el } from "../page/dom.js";

/** The same search as a shell command. */
export function asCurl(request, path = "search") {
  const key = hasKey() ? ` \\\n  -H "Authorization: Bearer $STEPWELL_API_KEY"` : "";
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return `curl -s ${origin}/api/rag/${path} -H 'Content-Type: application/json'${key} -d '${body}'`;
}

/** The same search as a program; the client reads the key from STEPWELL_API_KEY. */
export function asPython(request) {
  const { query, ...options } = request;
  const named = Object.entries(options).map(([name, value]) => `${name}=${literal(value)}`);
  return [
    "from stepwell_client import Client",
    "",
    `with Client(${literal(origin)}) as stepwell:`,
    "    answer = stepwell.search(",
    ...[literal(query), ...named].map((argument) => `        ${argument},`),
    "    )",
    "    for hit in answer.results:",
    "        print(hit.score, hit.title, hit.content)",
  ].join("\n");
}

/** A panel with both, each with a button that copies it. */
export function requestPanel(request) {
  const block = (title, text) =>
    el(
      "div",
      { class: "code" },
      el("div", { class: "code-head" }, el("h3", {}, title), copyButton(() => text)),
      el("pre", { tabindex: "0", "aria-label": title }, text),
    );
  return el(
    "details",
    { class: "panel" },
    el("summary", {}, "This request as code"),
    el("div", { class: "panel-body" }, block("curl", asCurl(request)), block("Python", asPython(request))),
  );
}

function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, inner]) => `${literal(name)}: ${literal(inner)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
