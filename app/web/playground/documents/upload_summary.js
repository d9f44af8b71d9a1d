// Counts what became of uploads by format, and shows it with each refusal.

import { el } from "../page/dom.js";
import { FORMATS } from "../upload_rules.js";

const MOST = 200;

/** What became of some files. */
export class UploadSummary {
  files = 0;
  documents = 0;
  chunks = 0;
  bytes = 0;
  stages = {};
  formats = new Map();
  refused = [];

  /** Counts a file that was stored as documents of so many chunks, or of which a part was refused. */
  stored(file, name, { documents, chunks }, reasons) {
    this.#count(file, name, { files: 1, documents, chunks, refused: reasons.length ? 1 : 0 });
    for (const reason of reasons) this.refused.push([name, reason]);
  }

  /** Counts the time of the stages of a request, in seconds. */
  took(stages) {
    for (const [stage, seconds] of Object.entries(stages)) this.stages[stage] = (this.stages[stage] ?? 0) + seconds;
  }

  get refusedFiles() {
    return [...this.formats.values()].reduce((sum, { refused }) => sum + refused, 0);
  }

  #count(file, name, counts) {
    this.files += 1;
    this.bytes += file.size;
    this.documents += counts.documents;
    this.chunks += counts.chunks;
    const format = formatOf(name);
    const sums = this.formats.get(format) ?? { files: 0, documents: 0, chunks: 0, refused: 0 };
    for (const [column, number] of Object.entries(counts)) sums[column] += number;
    this.formats.set(format, sums);
  }
}

/** The counts as a table, and the refusals. */
export function summaryTable(formats, refused) {
  const columns = ["files", "documents", "chunks", "refused"];
  const head = ["Format", "Files", "Documents", "Chunks", "Refused"].map((name) => el("th", { scope: "col" }, name));
  const rows = [...formats]
    .sort(([, one], [, other]) => other.files - one.files)
    .map(([format, sums]) => el("tr", {}, el("th", { scope: "row" }, format), columns.map((column) => el("td", {}, (sums[column] ?? 0).toLocaleString("en")))));
  const table = el("table", { class: "counts" }, el("caption", { class: "visually-hidden" }, "What became of the files of each format"), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
  return [rows.length ? el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Files by format" }, table) : null, refusals(refused)];
}

function refusals(refused) {
  if (!refused.length) return null;
  const items = refused.slice(0, MOST).map(([name, reason]) => el("li", {}, el("span", { class: "uri", dir: "auto" }, name), " ", reason));
  const more = refused.length > MOST ? el("p", { class: "note" }, `${(refused.length - MOST).toLocaleString("en")} more are not shown.`) : null;
  return el("details", { class: "fold refusals", open: refused.length <= 5 }, el("summary", {}, `${refused.length.toLocaleString("en")} refused`), el("ul", { class: "plain" }, items), more);
}

function formatOf(name) {
  const [, suffix] = /\.([^./]+)$/.exec(name) ?? [];
  return FORMATS[suffix?.toLowerCase()] ?? "text";
}
