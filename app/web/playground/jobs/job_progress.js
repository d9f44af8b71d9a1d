// Shows how far a job is, how fast, what takes most of the time, and what it has done.

import { el } from "../page/dom.js";
import { busiest, inRates, timeLeft } from "../page/rates.js";
import { summaryTable } from "../documents/upload_summary.js";

const COUNTED = ["added", "replaced", "renamed", "removed", "unchanged", "failed", "documents", "chunks", "chunk_count", "embedded", "cut", "skipped"];

const STEPS = {
  cut: "cutting",
  embed: "embedding",
  index: "indexing",
  publish: "publishing",
  compare: "comparing",
  rename: "renaming",
  store: "storing",
  remove: "removing",
  link: "linking",
};

/** What a job does now, in words. */
export function stepText(step) {
  return STEPS[step] ?? step;
}

/** The bar and the words of a job that waits or runs, and the rates of one that is done. `since` is its progress when its step began. */
export function jobProgress(job, since = { done: 0, seconds: 0 }) {
  const { done, total, unit, step, documents, chunks, seconds, stages, page, pages } = job.progress;
  const isRunning = job.status === "running";
  if (!isRunning && job.status !== "done") return waiting(job);
  const counted = done == null ? null : `${step && isRunning ? `${stepText(step)}: ` : ""}${number(done)}${total ? ` of ${number(total)}` : ""} ${unit ?? ""}`.trim();
  const rates = documents ? inRates({ documents, chunks, seconds }) : seconds && done && unit ? `${(done / seconds).toFixed(1)} ${unit} per second` : "";
  const at = page && isRunning ? `page ${number(page)} of ${number(pages)}` : "";
  const words = [counted, at, rates, busiest(stages, seconds), isRunning ? timeLeft(done - since.done, total - since.done, seconds - since.seconds) : seconds ? `${seconds.toFixed(1)} s` : ""];
  const bar = isRunning ? el("progress", { max: String(total || 1), value: total ? String(done ?? 0) : null, "aria-label": "Progress" }) : null;
  return [bar, el("span", { class: "note" }, words.filter(Boolean).join(", "))];
}

/** Whether a job has done something that is worth a look. */
export function hasDetails(job) {
  return job.status === "done" && COUNTED.some((name) => name in job.result);
}

/** What a job has done: its counts, its files by format, and each that could not be stored, with the reason. */
export function jobDetails({ result }) {
  const counts = COUNTED.filter((name) => result[name] != null && typeof result[name] === "number").map((name) => `${number(result[name])} ${name.replace("chunk_count", "chunks")}`);
  const formats = Object.entries(result.formats ?? {}).map(([format, { failed, ...sums }]) => [format, { ...sums, refused: failed }]);
  const refused = (result.failures ?? []).map(({ path, reason }) => [path, reason]);
  return [el("p", { class: "note" }, counts.join(", ")), ...summaryTable(formats, refused), leftOut(result.left_out ?? {})];
}

function leftOut(reasons) {
  const items = Object.entries(reasons).map(([reason, { count, examples }]) => el("li", {}, `${number(count)} ${reason}: `, el("span", { class: "uri" }, (examples ?? []).join(", "))));
  return items.length ? el("details", { class: "fold" }, el("summary", {}, "Left out"), el("ul", { class: "plain" }, items)) : null;
}

function waiting(job) {
  if (job.status !== "queued" || !job.error) return null;
  return el("span", { class: "note" }, `tried again from ${job.run_at.slice(11, 19)} UTC`);
}

function number(value) {
  return value.toLocaleString("en");
}
