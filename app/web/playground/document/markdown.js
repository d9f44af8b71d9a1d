// Reads Markdown into blocks, of which each knows its place in the text. What a block is drawn as holds no HTML of the text.

import { el } from "../page/dom.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const QUOTE = /^ {0,3}> ?/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const COLUMNS = /^ {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;
const INDENTED = /^ {4}/;
const BEGINS = [FENCE, HEADING, RULE, QUOTE, ITEM];
const READERS = [fence, heading, rule, quote, list, table, indented, paragraph];
const DEEPEST = 12;
// The marks inside a paragraph. What one encloses is bounded, so that unclosed marks in a long text cost little.
const LINKED = /^(https?:|mailto:)/i;
const MARKS = [
  /\\(?<escaped>[!-/:-@[-`{-~])/,
  /(?<!`)(?<ticks>`{1,9})(?!`)(?<code>.{1,1000}?)(?<!`)\k<ticks>(?!`)/,
  /!\[(?<alt>[^\]]{0,500})\]\([^()]{0,2000}\)/,
  /\[(?<label>(?:(?!!\[)[^[\]]|!?\[[^[\]]{0,500}\](?:\([^()]{0,2000}\)|(?!\([^()]{0,2000}\)))){1,500})\]\(\s{0,9}<?(?<href>[^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,200})?)>?(?:\s{1,9}["'(][^"')]{0,500}["')])?\s{0,9}\)/,
  /<?(?<address>https?:\/\/[^\s<>]{0,2000}[^\s<>.,;:!?'")\]*_~])>?/,
  /\*\*(?=[^\s*])(?<strong>.{1,500}?)(?<=\S)\*\*/,
  /(?<!\w)__(?=[^\s_])(?<strong2>.{1,500}?)(?<=\S)__(?!\w)/,
  /\*(?=[^\s*])(?<em>.{1,500}?)(?<=[^\s*])\*(?!\*)/,
  /(?<!\w)_(?=[^\s_])(?<em2>.{1,500}?)(?<=[^\s_])_(?!\w)/,
  /~~(?=\S)(?<del>.{1,500}?)(?<=\S)~~/,
  /(?: {2,9}|\\)\n/,
];
const MARK = new RegExp(MARKS.map(({ source }) => source).join("|"), "gs");
const DEEPEST_MARK = 8;

/** The blocks of a text below its title: `draw` makes the element of one, `start` and `end` are its offsets. */
export function markdownBlocks(text, title) {
  const lines = linesOf(text);
  const first = textFrom(lines, 0);
  const isUnderlined = UNDERLINE.test(lines[first + 1]?.text ?? "");
  const head = first < lines.length && (isUnderlined ? lines[first].text.trim() : titleOf(lines[first]));
  const isTitled = head && head.replace(/[`*_\\]/g, "") === title.replace(/[`*_\\]/g, "");
  const rest = first + (isUnderlined ? 2 : 1);
  if (!isTitled || textFrom(lines, rest) === lines.length) return blocks(lines, { level: 1, below: 1 }, 0);
  return blocks(lines.slice(rest), { level: 1, below: 0 }, 0);
}

/** The paragraphs of a text without marks, as blocks. */
export function plainBlocks(text) {
  return split(linesOf(text)).map((some) => block(some, () => piece("p", some, some.map((line) => line.text).join("\n"))));
}

function linesOf(text) {
  let start = 0;
  return text.split("\n").map((line) => {
    const end = start + line.length;
    const read = { text: line.replace(/^[ \t]+/, (space) => space.replaceAll("\t", "    ")), start, end };
    start = end + 1;
    return read;
  });
}

/** Lines that follow one another without a blank one. */
function split(lines) {
  const found = [];
  let isOpen = false;
  for (const line of lines) {
    if (isBlank(line)) isOpen = false;
    else if (isOpen) found.at(-1).push(line);
    else (isOpen = true), found.push([line]);
  }
  return found;
}

function blocks(lines, outline, depth) {
  const found = [];
  const readers = depth < DEEPEST ? READERS : [paragraph];
  const inner = (some) => blocks(some, outline, depth + 1);
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const read = readers.reduce((one, reader) => one ?? reader(lines, at, inner, outline), null);
    found.push({ ...read, start: lines[at].start, end: lines[read.next - 1].end });
    at = read.next;
  }
  return found;
}

function block(lines, draw) {
  return { draw, start: lines[0].start, end: lines.at(-1).end };
}

/** An element that is marked if the passage that is looked for is in these lines. */
function piece(name, lines, ...children) {
  return el(name, { "data-start": lines[0].start, "data-end": lines.at(-1).end }, ...children);
}

function fence(lines, at) {
  const mark = FENCE.exec(lines[at].text)?.[1];
  if (!mark) return null;
  const isEnd = ({ text }) => text.trim().startsWith(mark) && !text.trim().replaceAll(mark[0], "");
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end])) end += 1;
  const next = Math.min(end + 1, lines.length);
  return { next, draw: () => codeOf(lines.slice(at, next), lines.slice(at + 1, end)) };
}

function indented(lines, at) {
  const next = endOf(lines, at, (line) => INDENTED.test(line.text));
  const code = lines.slice(at, next);
  return next > at ? { next, draw: () => codeOf(code, code.map((line) => ({ text: line.text.slice(4) }))) } : null;
}

function codeOf(lines, code) {
  return piece("pre", lines, el("code", {}, code.map(({ text }) => text).join("\n")));
}

function heading(lines, at, _inner, outline) {
  const level = HEADING.exec(lines[at].text)?.[1].length;
  return level ? headingOf(lines.slice(at, at + 1), titleOf(lines[at]), level, { outline, next: at + 1 }) : null;
}

/** The text of a line that is a heading. */
function titleOf({ text }) {
  return HEADING.test(text) ? text.trim().replace(/^#+/, "").trim().replace(/(?:^| )#+$/, "") : null;
}

/** A heading below that of the page; none is more than one level below the one before it. */
function headingOf(lines, title, level, { outline, next }) {
  const shown = (outline.level = Math.max(2, Math.min(level + outline.below, outline.level + 1, 6)));
  return { next, draw: () => piece(`h${shown}`, lines, inline(title)) };
}

function rule(lines, at) {
  return RULE.test(lines[at].text) ? { next: at + 1, draw: () => el("hr") } : null;
}

function quote(lines, at, inner) {
  const next = endOf(lines, at, (line) => QUOTE.test(line.text));
  if (next === at) return null;
  const quoted = inner(lines.slice(at, next).map((line) => ({ ...line, text: line.text.replace(QUOTE, "") })));
  return { next, draw: () => el("blockquote", {}, drawn(quoted)) };
}

function list(lines, at, inner) {
  const first = ITEM.exec(lines[at].text);
  if (!first) return null;
  const [, indent, mark] = first;
  const items = [];
  let next = at;
  for (let mine = at; isItem(lines[mine], indent.length, mark); mine = textFrom(lines, next)) {
    const [before] = ITEM.exec(lines[mine].text);
    next = itemEnd(lines, mine + 1, indent.length);
    const [head, ...rest] = lines.slice(mine, next);
    const box = (text) => text.replace(/^\[[ xX]\] /, (found) => (found === "[ ] " ? "☐ " : "☑ "));
    items.push(inner([{ ...head, text: box(head.text.slice(before.length)) }, ...rest.map((line) => ({ ...line, text: without(line.text, before.length) }))]));
  }
  const start = parseInt(mark, 10);
  const draw = () => el(start >= 0 ? "ol" : "ul", { start: start > 1 ? start : null }, items.map((item) => el("li", {}, drawn(item))));
  return { next, draw };
}

function isItem(line, indent, mark) {
  const found = line && ITEM.exec(line.text);
  return Boolean(found) && found[1].length <= indent + 1 && found[2].at(-1) === mark.at(-1) && !RULE.test(line.text);
}

/** Where an item ends: its lines are further in than its mark, or go on with its last paragraph. */
function itemEnd(lines, at, indent) {
  for (;;) {
    const next = textFrom(lines, at);
    if (next === lines.length) return at;
    const isInside = lines[next].text.search(/\S/) >= indent + 2;
    const goesOn = next === at && !begins(lines[next]) && !ITEM.test(lines[next].text);
    if (!isInside && !goesOn) return at;
    at = next + 1;
  }
}

function without(text, spaces) {
  const own = text.search(/\S/);
  return own < 0 ? "" : text.slice(Math.min(own, spaces));
}

function isTable(lines, at) {
  return lines[at].text.includes("|") && COLUMNS.test(lines[at + 1]?.text ?? "");
}

function table(lines, at) {
  if (!isTable(lines, at)) return null;
  const next = endOf(lines, at + 2, (line) => line.text.includes("|"));
  const row = (line, name) => piece("tr", [line], cells(line.text).map((cell) => el(name, {}, inline(cell))));
  const body = () => lines.slice(at + 2, next).map((line) => row(line, "td"));
  const draw = () => el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, el("table", {}, el("thead", {}, row(lines[at], "th")), el("tbody", {}, body())));
  return { next, draw };
}

function cells(text) {
  return text.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraph(lines, at, _inner, outline) {
  const next = endOf(lines, at + 1, (line, place) => !begins(line) && !isTable(lines, place));
  const under = lines.slice(at + 1, next + 1).findIndex((line) => UNDERLINE.test(line.text));
  const own = lines.slice(at, under < 0 ? next : at + 1 + under);
  const text = own.map((line, index) => (index ? line.text.trimStart() : line.text.trim())).join("\n");
  if (under < 0) return { next, draw: () => piece("p", own, inline(text)) };
  return headingOf(own, text, lines[at + 1 + under].text.includes("=") ? 1 : 2, { outline, next: at + under + 2 });
}

/** Whether a line begins a block, also right after a paragraph; a number other than 1 may be the middle of a sentence. */
function begins({ text }) {
  return BEGINS.some((mark) => mark.test(text)) && !/^ *(?!1[.)])\d+[.)]/.test(text);
}

function endOf(lines, at, isInside) {
  while (at < lines.length && !isBlank(lines[at]) && isInside(lines[at], at)) at += 1;
  return at;
}

function textFrom(lines, at) {
  while (at < lines.length && isBlank(lines[at])) at += 1;
  return at;
}

function isBlank({ text }) {
  return !text.trim();
}

function drawn(found) {
  return found.map(({ draw }) => draw());
}

/** The nodes of a text with marks. Only addresses of the web and of mail become links. */
function inline(text, depth = 0) {
  if (depth === DEEPEST_MARK) return [text];
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
