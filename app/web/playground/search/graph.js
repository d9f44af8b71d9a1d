// Draws the hops of an answer: from the question over names to passages, as a small SVG graph.

import { documentName, el, svg } from "../page/dom.js";

const NODE = { width: 164, height: 44 };
const GAP = { x: 32, y: 12 };
const LETTERS = 18;
// Letters of Chinese, Japanese and Korean, and pictures, are twice as wide.
const WIDE = /[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\uffdc\u{1f300}-\u{3ffff}]/u;

/** A figure with the graph, or null for an answer of one search. Where it is narrow, the graph scrolls sideways. */
export function hopGraph(answer, query) {
  const reached = answer.results.filter((hit) => hit.via).map((hit) => `${documentName(hit)} by ${hit.via.name}`);
  if (!answer.hops || !reached.length) return null;
  const drawn = drawing(graphOf(answer, query), `Passages that names led to: ${reached.join("; ")}.`);
  const place = el("div", { class: "graph-scroll", tabindex: "0", role: "region", "aria-label": "Graph of what led to the passages" }, drawn);
  return el("figure", { class: "graph" }, el("figcaption", {}, "From the question over names to passages"), place);
}

function drawing({ nodes, edges }, label) {
  const columns = placed(nodes);
  const width = columns.length * (NODE.width + GAP.x) - GAP.x + 4;
  const height = Math.max(...columns.map((column) => column.length)) * (NODE.height + GAP.y) - GAP.y + 4;
  const lines = edges.map(([from, to]) => curve(nodes.get(from), nodes.get(to)));
  return svg("svg", { viewBox: `-2 -2 ${width} ${height}`, width, height, role: "img", "aria-label": label }, [...lines, ...[...nodes.values()].map(shape)]);
}

/** Nodes by key, each with its column, and edges between keys. */
function graphOf(answer, query) {
  const nodes = new Map([["question", { kind: "question", label: query, detail: "question", column: 0 }]]);
  const edges = [];
  const hits = new Map(answer.results.map((hit, index) => [hit.chunk_id, { hit, place: index + 1 }]));
  const add = (chunkId, seen) => {
    if (nodes.has(chunkId)) return nodes.get(chunkId);
    const { hit, place } = hits.get(chunkId);
    const from = hit.via ? addName(hit.via, new Set([...seen, chunkId])) : "question";
    const detail = `passage ${place}`;
    nodes.set(chunkId, { kind: "passage", label: documentName(hit), detail, from, column: nodes.get(from).column + 1 });
    edges.push([from, chunkId]);
    return nodes.get(chunkId);
  };
  const addName = (via, seen) => {
    const isShown = hits.has(via.source_chunk_id) && !seen.has(via.source_chunk_id);
    const source = isShown ? via.source_chunk_id : "question";
    if (isShown) add(source, seen);
    const key = `name ${source} ${via.name}`;
    if (!nodes.has(key)) {
      nodes.set(key, { kind: "name", label: via.name, detail: "name", from: source, column: nodes.get(source).column + 1 });
      edges.push([source, key]);
    }
    return key;
  };
  for (const chunkId of hits.keys()) add(chunkId, new Set());
  return { nodes, edges };
}

function placed(nodes) {
  const columns = [];
  for (const node of nodes.values()) (columns[node.column] ??= []).push(node);
  const tallest = Math.max(...columns.map((column) => column.length));
  for (const column of columns) {
    // Nodes are in the order of those that lead to them, so that few edges cross.
    column.sort((one, other) => (nodes.get(one.from)?.y ?? 0) - (nodes.get(other.from)?.y ?? 0));
    const offset = ((tallest - column.length) * (NODE.height + GAP.y)) / 2;
    column.forEach((node, row) => {
      node.x = node.column * (NODE.width + GAP.x);
      node.y = offset + row * (NODE.height + GAP.y);
    });
  }
  return columns;
}

function shape(node) {
  const middle = NODE.height / 2;
  return svg(
    "g",
    { class: `node node-${node.kind}`, transform: `translate(${node.x} ${node.y})` },
    svg("title", {}, node.label),
    svg("rect", { width: NODE.width, height: NODE.height, rx: node.kind === "name" ? middle : 10 }),
    svg("text", { x: 14, y: middle - 3 }, shortened(node.label, LETTERS)),
    svg("text", { x: 14, y: middle + 13 }, node.detail),
  );
}

function curve(from, to) {
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [x2, y2] = [to.x, to.y + NODE.height / 2];
  const bend = Math.max(GAP.x / 2, (x2 - x1) / 2);
  return svg("path", { class: "edge", d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

function shortened(text, most) {
  const letters = Array.from(text).flatMap((letter) => (WIDE.test(letter) ? [letter, ""] : letter));
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}
