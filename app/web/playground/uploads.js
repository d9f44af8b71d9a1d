// Uploads files that are chosen or dropped, one after the other, and follows the jobs that store large ones.

import { call, follow, upload } from "./api.js";
import { listDocuments } from "./documents.js";
import { byId, el } from "./dom.js";
import { isLeftOut, readable } from "./folders.js";
import { problemText } from "./problems.js";

const DONE = { added: "Stored", replaced: "Replaced the earlier version", unchanged: "Stored already", changed: "Changed" };

/** Takes files from the file input and the drop zone. */
export function acceptFiles() {
  const input = byId("files");
  const drop = byId("drop");
  input.addEventListener("change", async () => {
    const files = [...input.files].map((file) => ({ file, name: file.name }));
    input.value = "";
    await send(files);
  });
  const folder = byId("folder");
  folder.addEventListener("change", async () => {
    const files = [...folder.files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
    folder.value = "";
    await send(readable(files), files.length);
  });
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const dropped = [...event.dataTransfer.files].map((file) => ({ file, name: file.name }));
    const files = entries.length ? (await Promise.all(entries.map((entry) => filesOf(entry)))).flat() : dropped;
    await send(readable(files), files.length);
  });
}

/** The files of a dropped file or folder, with their relative paths. */
async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const inner of some) if (inner.isFile || !isLeftOut(inner.name)) found.push(...(await filesOf(inner)));
  }
}

/** Stores files, of which `found` were chosen or dropped. */
async function send(files, found = files.length) {
  const rows = files.map(({ name }) => new UploadRow(name));
  const started = performance.now();
  for (const [index, { file, name }] of files.entries()) {
    await store(file, name, rows[index]);
    if (index + 1 < files.length) byId("documents-message").textContent = pace(rows, index + 1, performance.now() - started);
  }
  if (!found) return;
  await listDocuments();
  const refused = rows.filter((row) => row.isRefused).length;
  const leftOut = found > files.length ? ` ${found - files.length} hidden or generated ones are left out.` : "";
  byId("documents-message").textContent = `${files.length - refused} of ${files.length} files are stored.${leftOut}`;
}

/** How far an upload is, how fast, and how long it will take. */
function pace(rows, done, milliseconds) {
  const seconds = milliseconds / 1000;
  const chunks = rows.reduce((sum, row) => sum + row.chunks, 0);
  const left = Math.ceil(((rows.length - done) * seconds) / done);
  const rates = `${(done / seconds).toFixed(1)} files and ${(chunks / seconds).toFixed(1)} chunks per second`;
  return `${done} of ${rows.length} files: ${rates}, about ${left < 90 ? `${left} seconds` : `${Math.round(left / 60)} minutes`} left.`;
}

async function store(file, name, row) {
  try {
    row.says("Sending");
    const answer = await upload(file, name, (share) => row.at(share, share < 1 ? "Sending" : "Storing"));
    for (const failure of answer.failed) row.failed(failure.detail);
    for (const document of answer.documents) {
      if (document.job_id) await queued(document.job_id, row);
      else row.done(DONE[document.status] ?? document.status, document);
    }
  } catch (error) {
    if (!("errors" in error)) throw error;
    row.failed(problemText(error));
  }
}

async function queued(jobId, row) {
  row.says("Queued");
  let last = null;
  await follow(jobId, (job) => {
    last = job;
    const { done, total, step } = job.progress;
    row.at(total ? done / total : null, step ? `${step}${total ? `, ${done} of ${total}` : ""}` : job.status);
  });
  last ??= await call("GET", `jobs/${jobId}`);
  if (last.status === "done") row.done(DONE[last.result?.status] ?? "Stored", { warnings: [], ...last.result });
  else row.failed(`${last.status}${last.error ? `: ${last.error}` : ""}`);
}

class UploadRow {
  chunks = 0;

  constructor(name) {
    this.bar = el("progress", { max: "1", value: "0", "aria-label": `Progress of ${name}` });
    this.text = el("span", { class: "note" }, "Waiting");
    this.item = el("li", { class: "row" }, el("div", { class: "row-text" }, el("strong", {}, name), this.text), this.bar);
    byId("uploads").prepend(this.item);
  }

  says(text) {
    this.text.textContent = text;
  }

  at(share, text) {
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    this.says(text);
  }

  done(text, { chunk_count: chunks, warnings }) {
    this.chunks += chunks ?? 0;
    this.at(1, [`${text}${chunks ? `, ${chunks} ${chunks === 1 ? "chunk" : "chunks"}` : ""}`, ...warnings].join(". "));
    this.item.dataset.state = "done";
  }

  get isRefused() {
    return this.item.dataset.state === "failed";
  }

  failed(text) {
    this.at(1, `Not stored: ${text}`);
    this.item.dataset.state = "failed";
  }
}
