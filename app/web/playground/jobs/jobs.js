// Lists the background jobs with their progress, follows those that are open, and cancels them.

import { address, withParameters } from "../page/address.js";
import { call } from "../page/api.js";
import { byId, capitalised, el, factLine, fill, inWords } from "../page/dom.js";
import { lazyFold } from "../page/folds.js";
import { confirmed, guarded, say, showProblem } from "../page/messages.js";
import { Listing } from "../page/pages.js";
import { partsOf } from "../page/parts.js";
import { CANCELLABLE } from "../tables.js";
import { hasDetails, jobDetails, jobProgress } from "./job_progress.js";

const PER_PAGE = 25;
const POLL_MS = 1_500;
const IDLE_MS = 5_000;
const message = byId("jobs-message");
const guard = (work) => guarded(message, work);
const rows = new Map();
const listing = new Listing("jobs", { load, show, guard: watched, changed: () => rows.clear() });
let polling = null;
let failing = null;

/** Shows the jobs in the state that the address names. */
export async function listJobs(parameters) {
  await guard(() => Promise.all(partsOf("jobs")));
  await listing.open(parameters);
}

function load({ status }, cursor) {
  return call("GET", withParameters("jobs", { limit: PER_PAGE, status, cursor }));
}

/** Loads a page, and again after a while. What another call has said stays, except that loading failed. */
async function watched(work) {
  clearTimeout(polling);
  let isOpenShown = false;
  try {
    await work();
    if (failing?.isConnected) fill(message);
    failing = null;
    isOpenShown = [...rows.values()].some(({ job }) => isOpen(job));
  } catch (error) {
    // A message that is shown again would be read aloud again.
    if (failing?.isConnected) return;
    showProblem(message, error);
    failing = message.firstElementChild;
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
  const { status } = listing.selected;
  if (!jobs.length && !at) fill(list, el("li", { class: "message" }, status ? `No job is ${status}.` : "There are no jobs: large documents, folders and changes of names make them."));
}

/** Loads the page again while it is looked at; a job may have been added meanwhile. */
function follow() {
  if (byId("view-jobs").hidden) return;
  if (document.hidden) polling = setTimeout(follow, POLL_MS);
  else listing.again();
}

function isOpen(job) {
  return job.status === "queued" || job.status === "running";
}

function rowOf(job) {
  const known = rows.get(job.job_id);
  if (known && JSON.stringify(known.job) === JSON.stringify(job)) return known;
  const row = known ?? { item: el("li", { class: "row" }) };
  if (known?.job.status !== job.status) draw(row, job);
  row.job = job;
  fill(row.progress, jobProgress(job));
  rows.set(job.job_id, row);
  return row;
}

/** Builds the row of a job in a new state; progress alone changes only a part of it. */
function draw(row, job) {
  const name = capitalised(inWords(job.kind));
  const document = job.document_id && el("a", { href: address("document", { id: job.document_id }) }, "document");
  const target = document || partsOf("job", job).find(Boolean);
  const facts = factLine(el("span", { class: `badge badge-${job.status}` }, job.status), target, job.created_at.slice(0, 16).replace("T", " "), job.attempts > 1 && `${job.attempts} attempts`, job.error && el("code", {}, job.error));
  const isCancellable = isOpen(job) && CANCELLABLE.includes(job.kind);
  const cancel = isCancellable && el("button", { type: "button", class: "quiet", "aria-label": `Cancel: ${name}`, click: () => cancelled(job, name) }, "Cancel");
  row.progress = el("div", { class: "job-progress" });
  row.item.dataset.state = job.status;
  fill(row.item, el("div", { class: "row-text" }, el("strong", {}, name), facts, row.progress), cancel, hasDetails(job) && details(job, name));
}

function details(job, name) {
  const summary = ["Result", el("span", { class: "visually-hidden" }, ` of ${name}`)];
  return lazyFold("fold", summary, async () => jobDetails(await call("GET", `jobs/${job.job_id}`)));
}

async function cancelled(job, name) {
  const text = "What it was to store is not stored; what was stored before stays.";
  if (!(await confirmed({ title: `Cancel “${name}”?`, text, action: "Cancel the job" }))) return;
  let ended = null;
  if (!(await guard(async () => (ended = await call("POST", `jobs/${job.job_id}/cancel`))))) return;
  await listing.again();
  if (ended.status !== "cancelled") say(message, `The job has ended already: ${ended.status}.`);
  byId("jobs-title").focus();
}
