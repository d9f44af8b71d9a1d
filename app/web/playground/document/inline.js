// Reads the marks inside a paragraph of Markdown into nodes. Only addresses of the web and of mail become links.

import { el } from "../page/dom.js";

const LINKED = /^(https?:|mailto:)/i;
// What a mark encloses is bounded, so that unclosed marks in a long text cost little.
const MARKS = [
  /\\(?<escaped>[!-/:-@[-`{-~])/,
  /(?<!`)(?<ticks>`{1,9})(?!`)(?<code>.{1,1000}?)(?<!`)\k<ticks>(?!`)/,
  /!\[(?<alt>[^\]]{0,500})\]\([^()]{0,2000}\)/,
  /\[(?<label>(?:[^[\]]|!?\[[^[\]]{0,500}\](?:\([^()]{0,2000}\))?){1,500})\]\(\s*<?(?<href>[^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,200})?)>?(?:\s+["'(][^"')]{0,500}["')])?\s*\)/,
  /<?(?<address>https?:\/\/[^\s<>]{0,2000}[^\s<>.,;:!?'")\]*_~])>?/,
  /\*\*(?=[^\s*])(?<strong>.{1,500}?)(?<=\S)\*\*/,
  /(?<!\w)__(?=[^\s_])(?<strong2>.{1,500}?)(?<=\S)__(?!\w)/,
  /\*(?=[^\s*])(?<em>.{1,500}?)(?<=[^\s*])\*(?!\*)/,
  /(?<!\w)_(?=[^\s_])(?<em2>.{1,500}?)(?<=[^\s_])_(?!\w)/,
  /~~(?=\S)(?<del>.{1,500}?)(?<=\S)~~/,
  /(?: {2,9}|\\)\n/,
];
const MARK = new RegExp(MARKS.map(({ source }) => source).join("|"), "gs");
const DEEPEST = 8;

/** The nodes of a text with marks. */
export function inline(text, depth = 0) {
  if (depth === DEEPEST) return [text];
  const nodes = [];
  let done = 0;
  for (const found of text.matchAll(MARK)) {
    nodes.push(text.slice(done, found.index), node(found.groups, (inner) => inline(inner, depth + 1)));
    done = found.index + found[0].length;
  }
  return [...nodes, text.slice(done)];
}

function node({ escaped, code, alt, label, href, address, strong, strong2, em, em2, del }, inner) {
  if (escaped) return escaped;
  if (code) return el("code", {}, code.replace(/^ (.+) $/s, "$1"));
  if (alt !== undefined) return el("em", { class: "note" }, alt || "image");
  if (label) return LINKED.test(href) ? link(href, inner(label)) : el("span", { title: href }, inner(label));
  if (address) return link(address, [address]);
  if (strong ?? strong2) return el("strong", {}, inner(strong ?? strong2));
  if (em ?? em2) return el("em", {}, inner(em ?? em2));
  return del ? el("del", {}, inner(del)) : el("br");
}

function link(href, label) {
  return el("a", { href, title: href, rel: "noreferrer", target: "_blank" }, label);
}
