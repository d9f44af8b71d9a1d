// Builds elements. Strings become text nodes and never HTML.

const SVG = "http://www.w3.org/2000/svg";
// Characters of a text up to which it is a name.
const WORDS = 80;

/** An element. Attributes that are functions are event listeners. What is null, undefined or false is left out. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** The element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Replaces the children of an element. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(2).filter(isGiven));
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (isGiven(value)) element.setAttribute(name, value);
  }
  // One after the other: a call takes fewer arguments than a table may have cells.
  for (const child of children.flat(2).filter(isGiven)) element.append(child);
  return element;
}

function isGiven(value) {
  return value !== null && value !== undefined && value !== false;
}

/** A line of facts, of which strings run in the direction of their script. */
export function factLine(...facts) {
  return el("p", { class: "facts" }, facts.flat().filter(Boolean).map((fact) => el("span", {}, typeof fact === "string" ? el("bdi", {}, fact) : fact)));
}

/** Terms with what they mean, as pairs. */
export function termList(pairs) {
  return el("dl", { class: "metadata" }, pairs.map(([term, text]) => el("div", {}, el("dt", { dir: "auto" }, term), el("dd", { dir: "auto" }, text))));
}

/** A number with its noun. */
export function amount(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A code in words. */
export function inWords(code) {
  return code.replaceAll("_", " ");
}

/** A text with a capital letter. */
export function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A URI as people read it: a file by its path. */
export function shownUri(uri) {
  const [path, ...fragment] = uri.split("#");
  if (!path.startsWith("file:///")) return uri;
  try {
    return [decodeURIComponent(path.slice("file://".length)), ...fragment].join("#");
  } catch {
    return uri;
  }
}

/** What a document is called: its title, or else its URI, or else its first words; those of a hit are in its snippet. */
export function documentName({ title, uri, content, snippet }) {
  return title || shownUri(uri ?? "") || firstWords(content ?? snippet?.text ?? "") || "A document without a name";
}

function firstWords(text) {
  const [line] = text.replace(/^[\s#>*-]+/, "").split("\n");
  return line.length <= WORDS ? line : `${line.slice(0, line.lastIndexOf(" ", WORDS) + 1 || WORDS).trimEnd()}…`;
}

/** The URI of a document beside its name, or null if there is none or it is the name. */
export function uriBesideName({ title, uri }) {
  return title && uri ? el("span", { class: "uri", dir: "auto" }, shownUri(uri)) : null;
}
