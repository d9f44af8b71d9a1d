// Uploads files that are chosen or dropped, in their order, and follows the jobs that store large ones.

import { address } from "../page/address.js";
import { Problem, call, follow, upload } from "../page/api.js";
import { refreshDocuments } from "./documents.js";
import { byId, el, fill } from "../page/dom.js";
import { acceptDrops } from "./drops.js";
import { readable } from "./folders.js";
import { stepText } from "../jobs/job_progress.js";
import { problemText } from "../page/problems.js";
import { busiest, inRates, timeLeft } from "../page/rates.js";
import { addUpload, clearUploads } from "./upload_list.js";
import { UploadSummary, summaryTable } from "./upload_summary.js";
import { MAX_BYTES } from "../upload_rules.js";

const DONE = { added: "Stored", replaced: "Replaced the earlier version", unchanged: "Stored already", changed: "Changed" };
// The form around a file takes some of the bytes that a request may have.
const FORM_BYTES = 4_000;
// A request takes about as long as it takes to store so many bytes more: small files are not counted by their sizes alone.
const REQUEST_BYTES = 50_000;
let queue = [];
let running = null;

/** Takes files from the inputs and the drop zone. */
export function acceptFiles() {
  taken(byId("files"), (file) => file.name);
  taken(byId("folder"), (file) => file.webkitRelativePath || file.name);
  acceptDrops(byId("drop"), send, () => says("Nothing is stored: drop files into the frame under Documents."));
  byId("uploads-clear").addEventListener("click", cleared);
  byId("uploads-stop").addEventListener("click", stopped);
}

function taken(input, nameOf) {
  input.addEventListener("change", () => {
    const files = [...input.files].map((file) => ({ file, name: nameOf(file) }));
    input.value = "";
    send(files);
  });
}

/** Appends files to those that are sent; what a folder need not have is left out. */
function send(found) {
  if (!found.length) return;
  const byPath = new Intl.Collator("en", { numeric: true });
  const files = readable(found).sort((one, other) => byPath.compare(one.name, other.name));
  running ??= { summary: new UploadSummary(), leftOut: 0, bytes: 0, started: performance.now(), isStopped: false };
  running.leftOut += found.length - files.length;
  running.bytes += files.reduce((sum, { file }) => sum + file.size, 0);
  const isFirst = !queue.length && !running.isSending;
  queue.push(...files.map(({ file, name }) => ({ file, name, row: addUpload(name) })));
  byId("uploading").hidden = false;
  fill(byId("uploads-summary"));
  if (isFirst) sendAll(running);
}

async function sendAll(run) {
  run.isSending = true;
  byId("uploads-stop").hidden = false;
  while (queue.length) {
    const { file, name, row } = queue.shift();
    await store(file, name, row, run.summary);
    says(pace(run));
  }
  running = null;
  byId("uploads-stop").hidden = true;
  fill(byId("uploads-summary"), summaryTable(run.summary.formats, run.summary.refused));
  says(ended(run));
  await refreshDocuments();
}

/** How far the uploads are, how fast, what takes most of the time, and how long the rest will take. */
function pace({ summary, bytes, started }) {
  const seconds = (performance.now() - started) / 1000;
  const total = summary.files + queue.length;
  const left = timeLeft(summary.bytes + REQUEST_BYTES * summary.files, bytes + REQUEST_BYTES * total, seconds);
  const parts = [inRates({ ...summary, seconds }), busiest(summary.stages, seconds), left];
  return `${summary.files} of ${total} files: ${parts.filter(Boolean).join(", ")}.`;
}

function ended({ summary, leftOut, started, isStopped }) {
  const seconds = (performance.now() - started) / 1000;
  const stored = summary.files - summary.refusedFiles;
  const sentences = [`${stored} of ${summary.files} files are stored.`];
  if (leftOut) sentences.push(`${leftOut} hidden or generated ones are left out.`);
  if (isStopped) sentences.push("The others were not sent.");
  if (summary.documents > 1) sentences.push(`${inRates({ ...summary, seconds })}.`);
  return sentences.join(" ");
}

async function store(file, name, row, summary) {
  row.begin();
  const reasons = [];
  let counts = { documents: 0, chunks: 0 };
  try {
    if (file.size > MAX_BYTES - FORM_BYTES) throw new Problem({ detail: tooLarge(file) });
    const { answer, stages } = await upload(file, name, (share) => row.at(share, share < 1 ? "Sending" : "Storing"));
    summary.took(stages);
    for (const failure of answer.failed) reasons.push(refusal(failure, name));
    for (const document of answer.documents) {
      const stored = document.job_id ? await queued(document, row) : document;
      counts = { documents: counts.documents + 1, chunks: counts.chunks + (stored.chunk_count ?? 0) };
      shown(row, stored, answer.documents.length, counts);
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    reasons.push(problemText(error));
  }
  if (reasons.length) row.failed(reasons.join(" "), counts.documents);
  summary.stored(file, name, counts, reasons);
}

/** Why a document was refused; a file of an archive is named. */
function refusal({ uri, detail }, name) {
  return uri?.startsWith(`${name}/`) ? `${uri.slice(name.length + 1)}: ${detail}` : detail;
}

function tooLarge(file) {
  const megabytes = (bytes) => `${(bytes / 1_000_000).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
  return `It has ${megabytes(file.size)}, and a request at most ${megabytes(MAX_BYTES)}: split it, or use \`stepwell ingest\` where the service runs.`;
}

/** Follows the job that stores a large document; the document with its counts. Throws Problem. */
async function queued(document, row) {
  row.says("Queued");
  let last = null;
  await follow(document.job_id, (job) => {
    last = job;
    const { done, total, step } = job.progress;
    row.at(total ? done / total : null, step ? `${stepText(step)}${total ? `, ${done} of ${total}` : ""}` : job.status);
  });
  last ??= await call("GET", `jobs/${document.job_id}`);
  if (last.status !== "done") throw new Problem({ detail: `${last.status}${last.error ? `: ${last.error}` : ""}` });
  return { ...document, warnings: [], ...last.result };
}

function shown(row, { document_id: id, status, warnings }, documents, counts) {
  const chunks = counts.chunks === 1 ? "1 chunk" : `${counts.chunks.toLocaleString("en")} chunks`;
  const text = documents > 1 ? `${counts.documents} documents` : el("a", { href: address("document", { id }), "aria-label": `Open ${row.name}` }, "Open");
  row.done(`${DONE[status] ?? "Stored"}, ${chunks}. `, text, warnings.length ? `. ${warnings.join(" ")}` : "");
}

/** Sends none of the files that wait. */
function stopped() {
  running.isStopped = true;
  for (const { row } of queue) row.failed("stopped before it was sent.");
  queue = [];
}

function cleared() {
  clearUploads();
  fill(byId("uploads-summary"));
  if (running) return;
  says("");
  byId("uploading").hidden = true;
  byId("documents-title").focus();
}

function says(text) {
  byId("uploading").hidden = false;
  byId("uploads-pace").textContent = text;
}
