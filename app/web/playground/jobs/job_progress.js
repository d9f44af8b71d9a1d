// Shows how far a job is and what it has done.

import { el } from "../page/dom.js";

const COUNTED = ["added", "replaced", "renamed", "removed", "unchanged", "failed", "documents", "chunks", "chunk_count", "embedded", "cut", "skipped"];

/** How far a job is, in words; empty before it has begun. */
export function progressText({ status, progress }) {
  const { done, total, unit, step, seconds } = progress;
  if (done == null) return "";
  const isRunning = status === "running";
  const what = step && isRunning ? `${step}: ` : "";
  const words = [`${what}${number(done)}${total ? ` of ${number(total)}` : ""} ${unit ?? ""}`.trim()];
  if (seconds) words.push(isRunning ? timeLeft(done, total, seconds) : `${seconds.toFixed(1)} s`);
  return words.filter(Boolean).join(", ");
}

/** The bar and the words of a job that runs, waits to be tried again, or is done. */
export function jobProgress(job) {
  if (job.status === "queued") return job.error ? el("span", { class: "note" }, `tried again from ${job.run_at.slice(11, 19)} UTC`) : null;
  const { done, total } = job.progress;
  const bar = job.status === "running" ? el("progress", { max: String(total || 1), value: total ? String(done ?? 0) : null, "aria-label": "Progress" }) : null;
  return [bar, el("span", { class: "note" }, progressText(job))];
}

/** Whether a job has done something that is worth a look. */
export function hasDetails(job) {
  return job.status === "done" && COUNTED.some((name) => name in job.result);
}

/** What a job has done: its counts, what could not be stored with the reason, and what was left out. */
export function jobDetails({ result }) {
  const counts = COUNTED.filter((name) => typeof result[name] === "number").map((name) => `${number(result[name])} ${name.replace("chunk_count", "chunks")}`);
  const refused = (result.failures ?? []).map(({ path, reason }) => [path, reason]);
  const leftOut = Object.entries(result.left_out ?? {}).map(([reason, { count, examples }]) => [`${number(count)} left out`, `${reason}: ${(examples ?? []).join(", ")}`]);
  const items = [...refused, ...leftOut].map(([name, reason]) => el("li", {}, el("span", { class: "uri", dir: "auto" }, name), " ", reason));
  return [el("p", { class: "note" }, counts.join(", ")), el("ul", {}, items)];
}

/** The time left, if the rest takes as long as what is done. */
function timeLeft(done, total, seconds) {
  if (!done || done >= total) return "";
  const left = Math.ceil(((total - done) * seconds) / done);
  return `about ${left < 90 ? `${left} s` : `${Math.round(left / 60)} minutes`} left`;
}

function number(value) {
  return value.toLocaleString("en");
}
