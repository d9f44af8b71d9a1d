// Lists the background jobs with their progress, follows those that are open, and cancels them.

import { address, replaceAddress } from "../page/address.js";
import { call } from "../page/api.js";
import { confirmed } from "../page/confirm.js";
import { byId, capitalised, el, fill, inWords } from "../page/dom.js";
import { CANCELLABLE } from "../job_kinds.js";
import { hasDetails, jobDetails, jobProgress } from "./job_progress.js";
import { Pages } from "../page/pages.js";
import { partsOf } from "../page/parts.js";
import { guarded, showProblem } from "../page/problems.js";

const PER_PAGE = 25;
const POLL_MS = 1_500;
const IDLE_MS = 5_000;
const status = byId("jobs-status");
const guard = (work) => guarded(byId("jobs-message"), work);
const pages = new Pages(byId("jobs-pages"), { load, show, guard: watched });
const rows = new Map();
let polling = null;
let failing = null;

/** Shows the jobs in the state that the address names. */
export async function listJobs(parameters = new URLSearchParams()) {
  status.value = parameters.get("status") ?? "";
  rows.clear();
  await guard(() => Promise.all(partsOf("jobs")));
  await pages.open(status.value);
}

status.addEventListener("change", () => {
  replaceAddress("jobs", { status: status.value });
  rows.clear();
  pages.open(status.value);
});

function load(cursor) {
  const given = { limit: PER_PAGE, ...(status.value ? { status: status.value } : {}), ...(cursor ? { cursor } : {}) };
  return call("GET", `jobs?${new URLSearchParams(given)}`);
}

/** Loads a page, and again after a while. What another call has said stays, except that loading failed. */
async function watched(work) {
  clearTimeout(polling);
  let isOpenShown = false;
  try {
    await work();
    if (failing?.isConnected) fill(byId("jobs-message"));
    failing = null;
    isOpenShown = [...rows.values()].some(({ job }) => isOpen(job));
  } catch (error) {
    // A message that is shown again would be read aloud again.
    if (failing?.isConnected) return;
    showProblem(byId("jobs-message"), error);
    failing = byId("jobs-message").firstElementChild;
  } finally {
    clearTimeout(polling);
    polling = setTimeout(follow, isOpenShown ? POLL_MS : IDLE_MS);
  }
}

function show({ jobs }, at) {
  const list = byId("jobs");
  const shown = jobs.map((job) => rowOf(job).item);
  const known = new Set(jobs.map((job) => job.job_id));
  for (const id of rows.keys()) if (!known.has(id)) rows.delete(id);
  // Rows that stay are not moved, so that the focus and what is open stay.
  if (shown.length !== list.childElementCount || shown.some((item, place) => list.children[place] !== item)) fill(list, shown);
  if (!jobs.length && !at) fill(list, el("li", { class: "message" }, status.value ? `No job is ${status.value}.` : "There are no jobs: large documents, folders and changes of names make them."));
}

/** Loads the page again while it is looked at; a job may have been added meanwhile. */
function follow() {
  if (byId("view-jobs").hidden) return;
  if (document.hidden) polling = setTimeout(follow, POLL_MS);
  else pages.again();
}

function isOpen(job) {
  return job.status === "queued" || job.status === "running";
}

function rowOf(job) {
  const known = rows.get(job.job_id);
  if (known && JSON.stringify(known.job) === JSON.stringify(job)) return known;
  const row = known ?? { item: el("li", { class: "row row-tall" }) };
  if (known?.job.status !== job.status) draw(row, job);
  row.job = job;
  fill(row.progress, jobProgress(job));
  rows.set(job.job_id, row);
  return row;
}

/** Builds the row of a job in a new state; progress alone changes only a part of it. */
function draw(row, job) {
  const name = capitalised(inWords(job.kind));
  row.progress = el("div", { class: "job-progress" });
  row.item.dataset.state = job.status;
  const cancel = isOpen(job) && CANCELLABLE.includes(job.kind) ? el("button", { type: "button", class: "quiet", "aria-label": `Cancel: ${name}`, click: () => cancelled(job, name) }, "Cancel") : null;
  const facts = el("span", { class: "where" }, el("span", { class: `badge badge-${job.status}` }, job.status), target(job), el("span", {}, job.created_at.slice(0, 16).replace("T", " ")), job.attempts > 1 ? el("span", {}, `${job.attempts} attempts`) : null, job.error ? el("code", {}, job.error) : null);
  fill(row.item, el("div", { class: "row-text" }, el("strong", {}, name), facts, row.progress), cancel, details(job, name));
}

function target(job) {
  if (job.document_id) return el("a", { href: address("document", { id: job.document_id }) }, "document");
  return partsOf("job", job).find(Boolean) ?? null;
}

function details(job, name) {
  if (!hasDetails(job)) return null;
  const body = el("div", { class: "fold-body" });
  const fold = el("details", { class: "fold" }, el("summary", {}, "Result", el("span", { class: "visually-hidden" }, ` of ${name}`)), body);
  fold.addEventListener("toggle", () => guard(async () => fill(body, jobDetails(await call("GET", `jobs/${job.job_id}`)))), { once: true });
  return fold;
}

async function cancelled(job, name) {
  const text = "What it was to store is not stored; what was stored before stays.";
  if (!(await confirmed({ title: `Cancel “${name}”?`, text, action: "Cancel the job" }))) return;
  let ended = null;
  if (!(await guard(async () => (ended = await call("POST", `jobs/${job.job_id}/cancel`))))) return;
  await pages.again();
  if (ended.status !== "cancelled") fill(byId("jobs-message"), el("p", { class: "message" }, `The job has ended already: ${ended.status}.`));
  byId("jobs-title").focus();
}
