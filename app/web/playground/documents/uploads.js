// Uploads files that are chosen, dropped or pasted, in their order, and follows the jobs that store large ones.

import { address } from "../page/address.js";
import { Problem, call, upload } from "../page/api.js";
import { amount, byId, el, fill } from "../page/dom.js";
import { problemText } from "../page/messages.js";
import { MAX_BYTES } from "../tables.js";
import { refreshDocuments } from "./documents.js";
import { onFiles, readable } from "./files.js";

const DONE = { added: "Stored", replaced: "Replaced the earlier version", unchanged: "Stored already", changed: "Changed" };
// The form around a file takes some of the bytes that a request may have.
const FORM_BYTES = 4_000;
// Of a long list those that are stored make room.
const MOST = 100;
const POLL_MS = 500;
// Statuses after which a call is repeated: no answer, too many requests, and a service that is busy or restarts, also
// behind a proxy. A file is sent so often at most: it may be the file that cannot be read.
const PASSING = [0, 429, 502, 503, 504];
const SENDINGS = 60;
let queue = [];
let run = null;
// Whether a file is on its way; what a job stores is safe, and needs the page no longer.
let isSending = false;

/** Takes files from the inputs, the drop zone and the clipboard; `read` gets a text that is pasted. */
export function acceptFiles(read) {
  addEventListener("beforeunload", (event) => (isSending || queue.length) && event.preventDefault());
  onFiles({ take: send, missed: () => says("Nothing is stored: drop files into the frame under Documents."), read });
  byId("uploads-clear").addEventListener("click", cleared);
  byId("uploads-stop").addEventListener("click", () => (queue = []));
}

/** Appends files to those that are sent; what a folder need not have is left out. */
function send(found) {
  if (!found.length) return;
  const byPath = new Intl.Collator("en", { numeric: true });
  const files = readable(found).sort((one, other) => byPath.compare(one.name, other.name));
  queue.push(...files);
  const isNew = !run;
  run ??= { stored: 0, sent: 0, total: 0, leftOut: 0 };
  run.total += files.length;
  run.leftOut += found.length - files.length;
  if (isNew) sendAll();
}

async function sendAll() {
  byId("uploads-stop").hidden = false;
  while (queue.length) {
    // Ten times at most, because a screen reader reads each.
    if (run.sent % Math.ceil(run.total / 10) === 0) says(`${run.sent} of ${run.total} files are sent.`);
    const { file, name } = queue.shift();
    if (await store(file, name)) run.stored += 1;
    run.sent += 1;
  }
  const { stored, sent, total, leftOut } = run;
  run = null;
  byId("uploads-stop").hidden = true;
  says([`${stored} of ${total} files are stored.`, leftOut ? `${leftOut} hidden or generated ones are left out.` : "", sent < total ? "The others were not sent." : ""].filter(Boolean).join(" "));
  await refreshDocuments();
}

/** Sends a file and shows that in a row of the list. Whether all of it is stored. */
async function store(file, name) {
  const row = new UploadRow(name);
  const reasons = [];
  let documents = [];
  try {
    if (!file) throw new Problem({ detail: "The browser cannot read it." });
    if (file.size > MAX_BYTES - FORM_BYTES) throw new Problem({ detail: tooLarge(file) });
    isSending = true;
    const progress = (share) => row.at(share, share < 1 ? "Sending" : "Storing");
    const answer = await patiently(row, () => upload(file, name, progress), SENDINGS).finally(() => (isSending = false));
    reasons.push(...answer.failed.map((failure) => about(failure, failure.detail, name)));
    for (const document of answer.documents) documents.push(document.job_id ? await queued(document, row) : document);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    reasons.push(problemText(error));
  }
  if (reasons.length) row.failed(reasons.join(" "), documents.length);
  else row.stored(documents);
  return !reasons.length;
}

/** A sentence on a document of a file: why it was refused, or a warning. A file of an archive is named. */
function about({ uri }, text, name) {
  return uri?.startsWith(`${name}/`) ? `${uri.slice(name.length + 1).split("#")[0]}: ${text}` : text;
}

function tooLarge(file) {
  const megabytes = (bytes) => `${(bytes / 1_000_000).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
  return `It has ${megabytes(file.size)}, and a request at most ${megabytes(MAX_BYTES)}: split it, or use \`stepwell ingest\` where the service runs.`;
}

/** Follows the job that stores a large document; the document with its counts. Throws Problem. */
async function queued(document, row) {
  for (;;) {
    const job = await patiently(row, () => call("GET", `jobs/${document.job_id}`));
    const { done, total } = job.progress;
    row.at(total ? done / total : null, progressText(job.progress) || job.status);
    if (job.status === "done") return { ...document, ...job.result };
    if (!["queued", "running"].includes(job.status)) throw new Problem({ detail: `${job.status}${job.error ? `: ${job.error}` : ""}` });
    await moment();
  }
}

/** What a call resolves to, which is repeated while the service is away or busy. Throws Problem. */
async function patiently(row, ask, most = Infinity) {
  for (let asked = 1; ; asked += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!PASSING.includes(error.status) || asked === most) throw error;
    }
    row.at(null, "Waiting for the service");
    await moment();
  }
}

function moment() {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** How far a job is, in words; empty before it has begun. */
function progressText({ done, total, unit, step }) {
  if (done == null) return "";
  const number = (value) => value.toLocaleString("en");
  return `${step ? `${step}: ` : ""}${number(done)}${total ? ` of ${number(total)}` : ""} ${unit ?? ""}`.trim();
}

function cleared() {
  for (const item of byId("uploads").querySelectorAll("[data-state]")) item.remove();
  if (run) return;
  says("");
  byId("uploading").hidden = true;
  byId("documents-title").focus();
}

function says(text) {
  byId("uploading").hidden = false;
  byId("uploads-pace").textContent = text;
}

/** A row of the list of uploads. */
class UploadRow {
  constructor(name) {
    this.name = name;
    this.bar = el("progress", { max: "1", value: "0", "aria-label": `Progress of ${name}` });
    this.text = el("span", { class: "note" }, "Sending");
    this.item = el("li", { class: "row" }, el("div", { class: "row-text" }, el("strong", { dir: "auto" }, name), this.text), this.bar);
    const list = byId("uploads");
    if (list.childElementCount >= MOST) list.querySelector("[data-state=done]")?.remove();
    list.append(this.item);
  }

  at(share, text) {
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    fill(this.text, text);
  }

  stored(documents) {
    const chunks = documents.reduce((sum, { chunk_count: number }) => sum + (number ?? 0), 0);
    const [{ document_id: id, status }] = documents;
    // A warning that many rows share is said once.
    const warnings = new Set(documents.flatMap((document) => document.warnings.map((warning) => about(document, warning, this.name))));
    const target = documents.length > 1 ? `${documents.length} documents` : el("a", { href: address("document", { id }), "aria-label": `Open ${this.name}` }, "Open");
    fill(this.text, `${DONE[status] ?? "Stored"}, ${amount(chunks, "chunk")}. `, target, warnings.size > 0 && `. ${[...warnings].join(" ")}`);
    this.bar.value = 1;
    this.item.dataset.state = "done";
  }

  failed(text, stored) {
    fill(this.text, stored > 0 && `Stored: ${amount(stored, "document")}. `, `Not stored: ${text}`);
    this.bar.remove();
    this.item.dataset.state = "failed";
  }
}
