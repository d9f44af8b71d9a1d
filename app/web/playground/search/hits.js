// Draws a hit as a card: place, snippet, relevance, what led to it, score and passage.

import { documentAddress } from "../document/document.js";
import { documentName, el, extent, uriBesideName } from "../page/dom.js";
import { scoreBars } from "./explain.js";
import { thumbs } from "./feedback.js";
import { metadataList } from "../page/metadata.js";
import { HEADINGS, SIGNALS } from "../signals.js";
import { marked, markedSnippet, shownMatches } from "./snippets.js";

/** The card of the hit of a query at a place, from 1. */
export function hitCard(hit, place, answer, query) {
  shownMatches.set(hit.chunk_id, hit.snippet?.matches ?? []);
  return el(
    "li",
    { class: "card", id: `hit-${place}`, "data-chunk": hit.chunk_id },
    el("div", { class: "card-head" }, el("span", { class: "place", "aria-hidden": "true" }, String(place)), heading(hit), relevance(hit)),
    snippet(hit),
    route(hit, answer),
    badges(hit, answer),
    el("div", { class: "card-foot" }, why(hit), passage(hit), ...more(hit), ...duplicates(hit), thumbs(hit, query)),
  );
}

/** A confidence level in words. */
export function inWords(level) {
  return level.replaceAll("_", " ");
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
      hit.source ? el("span", {}, `source ${hit.source}`) : null,
    ),
  );
}

function relevance(hit) {
  if (hit.relevance == null) return el("div", { class: "relevance" }, el("span", { class: "note" }, "not calibrated"));
  const percent = Math.round(100 * hit.relevance);
  return el(
    "div",
    { class: "relevance", title: "Probability that the passage is relevant" },
    el("span", { class: "relevance-value" }, `${percent}%`, el("span", { class: "note" }, " relevant")),
    el("span", { class: "track", "aria-hidden": "true" }, extent(el("span", { class: "bar bar-total" }), 0, hit.relevance)),
  );
}

function snippet(hit) {
  return el("p", { class: "snippet", dir: "auto" }, markedSnippet(hit.snippet ?? { text: hit.content, matches: [] }));
}

function route(hit, answer) {
  if (!hit.via) return null;
  const source = answer.results.find((other) => other.chunk_id === hit.via.source_chunk_id);
  const from = source ? [" in ", el("cite", { dir: "auto" }, source.title)] : [];
  const label = (hit.via.heading && HEADINGS[hit.via.kind]) || SIGNALS[hit.via.kind];
  return el("p", { class: "route" }, "reached by ", el("strong", { dir: "auto" }, hit.via.name), from, ` (${label})`);
}

function badges(hit, answer) {
  const found = [];
  if (hit.hop) found.push(badge(`hop ${hit.hop}`, "hop"));
  const entity = answer.pass1_entities.find((one) => one.entity_id === hit.parent?.entity_id);
  if (entity) found.push(badge(`about ${entity.name}`, "entity", `${entity.type}, recognised by ${entity.matched_by}`));
  if (hit.boost) found.push(badge(`mentions ×${hit.boost.factor.toFixed(2)}`, "entity", `mentions ${hit.boost.mentions} of the query's names`));
  return found.length ? el("ul", { class: "badges", "aria-label": "What led to it" }, found.map((one) => el("li", {}, one))) : null;
}

function badge(text, kind, title = null) {
  return el("span", { class: `badge badge-${kind}`, title }, text);
}

function why(hit) {
  if (!hit.explain) return null;
  const body = el("div", { class: "fold-body" });
  return fold("Why", body, () => body.append(ranks(hit), scoreBars(hit.explain)), "why");
}

/** The measures behind the relevance of a hit. */
function ranks(hit) {
  const found = [`score ${hit.score.toFixed(3)}`, `${inWords(hit.confidence)} confidence`];
  if (hit.vector_rank != null) found.push(`vector #${hit.vector_rank}, cosine ${hit.vector_score.toFixed(3)}`);
  if (hit.text_rank != null) found.push(`text #${hit.text_rank}, BM25 ${hit.text_score.toFixed(2)}`);
  return el("p", { class: "facts ranks" }, found.map((fact) => el("span", {}, fact)));
}

function passage(hit) {
  const body = el("div", { class: "fold-body" });
  const write = () =>
    body.append(el("p", { class: "passage", dir: "auto" }, marked(hit.content, hit.snippet?.matches ?? [])), metadataList(hit.metadata) ?? "");
  return fold("Passage", body, write, "passage-fold");
}

function more(hit) {
  if (!hit.more?.length) return [];
  const body = el("div", { class: "fold-body" });
  const write = () => body.append(...hit.more.map((other) => el("div", { class: "also" }, snippet(other), el("a", { href: documentAddress(other.document_id, other) }, "In the document"))));
  return [fold(`${hit.more.length} more of this document`, body, write, "more-fold")];
}

function duplicates(hit) {
  if (!hit.duplicates) return [];
  const named = hit.duplicate_documents ?? [];
  const items = named.map((document) => el("li", { class: "where" }, el("a", { href: documentAddress(document.document_id), dir: "auto" }, documentName(document)), uriBesideName(document)));
  const body = el("div", { class: "fold-body" });
  const write = () => body.append(el("ul", { class: "plain" }, items.length ? items : el("li", {}, "In the same document.")));
  return [fold(hit.duplicates === 1 ? "1 passage repeats it" : `${hit.duplicates} passages repeat it`, body, write, "duplicates-fold")];
}

function fold(title, body, write, name) {
  const details = el("details", { class: `fold ${name}` }, el("summary", {}, title), body);
  details.addEventListener("toggle", () => body.childElementCount || write(), { once: true });
  return details;
}
