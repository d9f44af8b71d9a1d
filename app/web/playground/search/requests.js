// Writes a request as a curl command. A key is named by a variable, never written out.

import { hasKey, origin } from "../page/api.js";
import { el } from "../page/dom.js";

function asCurl(request) {
  const key = hasKey() ? ` \\\n  -H "Authorization: Bearer $STEPWELL_API_KEY"` : "";
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return `curl -s ${origin}/api/rag/search -H 'Content-Type: application/json'${key} -d '${body}'`;
}

/** A panel with the command. */
export function requestPanel(request) {
  return el(
    "details",
    { class: "panel" },
    el("summary", {}, "This request as a command"),
    el("div", { class: "panel-body code" }, el("pre", { tabindex: "0", "aria-label": "curl" }, asCurl(request))),
  );
}
