// Draws a hit as a card: place, snippet, relevance, what led to it, and its score.

import { documentAddress } from "../document/document.js";
import { documentName, el, inWords, uriBesideName } from "../page/dom.js";
import { partsOf } from "../page/parts.js";
import { SIGNALS } from "../signals.js";
import { scoreBars } from "./explain.js";
import { explainedFold } from "./explanations.js";
import { markedSnippet } from "./snippets.js";

/** The card of the hit of a query at a place, from 1; `explained` resolves to its answer with explanations. */
export function hitCard(hit, place, { answer, query, explained }) {
  return el(
    "li",
    { class: "card", id: `hit-${place}`, "data-chunk": hit.chunk_id },
    el("div", { class: "card-head" }, el("span", { class: "place", "aria-hidden": "true" }, String(place)), heading(hit), relevance(hit)),
    snippet(hit),
    route(hit, answer),
    about(hit, answer),
    el("div", { class: "card-foot" }, why(hit, explained), more(hit), partsOf("card", hit, query)),
  );
}

function heading(hit) {
  const title = documentName(hit);
  const path = hit.heading_path.filter((name, index) => index > 0 || name !== title);
  return el(
    "div",
    { class: "card-title" },
    el("h3", { dir: "auto" }, el("a", { href: documentAddress(hit.document_id, hit) }, title)),
    el(
      "p",
      { class: "where" },
      uriBesideName(hit),
      path.length ? el("span", { class: "path", dir: "auto" }, path.join(" › ")) : null,
      hit.page == null ? null : el("span", {}, `page ${hit.page}`),
    ),
  );
}

function relevance(hit) {
  if (hit.relevance == null) return el("div", { class: "relevance" }, "no relevance");
  return el("div", { class: "relevance", title: "Score of relevance, 0 to 100%" }, el("strong", {}, `${Math.round(100 * hit.relevance)}%`), " relevant");
}

function snippet(hit) {
  return el("p", { class: "snippet", dir: "auto" }, markedSnippet(hit.snippet));
}

function route({ via }, answer) {
  if (!via) return null;
  const source = answer.results.find((other) => other.chunk_id === via.source_chunk_id);
  const from = source ? [" in ", el("cite", { dir: "auto" }, documentName(source))] : [];
  return el("p", { class: "route" }, "reached by ", el("strong", { dir: "auto" }, via.name), from, ` (${SIGNALS[via.kind]})`);
}

function about(hit, answer) {
  const entity = answer.pass1_entities?.find((one) => one.entity_id === hit.parent?.entity_id);
  return entity ? el("p", { class: "badges" }, el("span", { class: "badge" }, `about ${entity.name}`)) : null;
}

function why(hit, explained) {
  return explainedFold("Why", "fold why", explained, ({ results }) => {
    const { explain, ...found } = results.find((other) => other.chunk_id === hit.chunk_id) ?? {};
    if (!explain) return [el("p", { class: "note" }, "What is stored has changed since: search again.")];
    return [ranks(found, explain), scoreBars(explain), duplicates(explain)];
  });
}

/** The measures behind the relevance of a hit. */
function ranks(hit, explain) {
  const found = [`score ${hit.score.toFixed(3)}`, `${inWords(hit.confidence)} confidence`];
  if (explain.vector_rank != null) found.push(`vector #${explain.vector_rank}, cosine ${hit.vector_score.toFixed(3)}`);
  if (explain.text_rank != null) found.push(`text #${explain.text_rank}, BM25 ${hit.text_score.toFixed(2)}`);
  return el("p", { class: "facts ranks" }, found.map((fact) => el("span", {}, fact)));
}

function duplicates({ duplicates: number, duplicate_documents: documents }) {
  if (!number) return null;
  const items = documents.map((one) => el("li", { class: "where" }, el("a", { href: documentAddress(one.document_id), dir: "auto" }, documentName(one)), uriBesideName(one)));
  return el("div", { class: "duplicates" }, el("p", { class: "note" }, number === 1 ? "1 passage repeats it:" : `${number} passages repeat it:`), el("ul", { class: "plain" }, items));
}

function more(hit) {
  if (!hit.more?.length) return null;
  const others = hit.more.map((other) => el("div", { class: "also" }, snippet(other), el("a", { href: documentAddress(other.document_id, other) }, "In the document")));
  return el("details", { class: "fold more-fold" }, el("summary", {}, `${hit.more.length} more of this document`), el("div", { class: "fold-body" }, others));
}
