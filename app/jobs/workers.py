"""Runs background jobs: claims them one at a time, renews their leases and repeats failed ones.

A worker that dies leaves its job to another one, which claims it when the lease has expired and continues it from its
stored progress. A job that was cancelled, or claimed by another worker, is stopped at the next renewal.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from prometheus_client import Counter

from app import capability, errors
from app.concurrency import offload
from app.database.transactions import Database, Reading, Transaction, Writing
from app.jobs import store as jobs
from app.jobs.store import Job
from app.models import remote_calls
from app.services import Services

log = logging.getLogger(__name__)

LEASE_S = 20.0
RENEW_S = 5.0
IDLE_S = 1.0
"""Pause of a worker between two looks for jobs."""
READ_ONLY_POLL_S = 2.0
"""Pause between two looks whether a database accepts writes again."""
RETRY_S, MAX_RETRY_S = 5.0, 300.0
"""Pause before the second attempt, which is doubled for each further one, and the longest pause."""
EXPIRE_EVERY_S = 3_600.0
"""Pause between two deletions of expired rows."""
MOST_SERVED = 64
"""Users whose turn a worker remembers."""
OUTAGE_RETRY_S = 60.0
"""The longest pause while a remote model is not available, or the disk is full."""


class ClaimLost(errors.StepwellError):
    """The job was cancelled, or another worker has claimed it."""

    code = "claim_lost"

    def __init__(self) -> None:
        super().__init__("The job was cancelled, or another worker has claimed it.")


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of background job: who does its work, and how its jobs are queued, cancelled and deleted.

    Attributes:
        name: The kind as it is stored, and shown to the user.
        handler: Does the work, finishes the job in the transaction that completes it, and returns how much was done.
        queue: A process runs the jobs of all kinds with the same queue one after the other.
        is_cancellable: Whether the user may cancel a job.
        on_failure: The kind of job that is queued when a job fails or is cancelled.
        kept: How many finished jobs of a user with the same payload are kept; None for all of `jobs.KEPT_DAYS`.
        details: Finds what is shown with the result of a job, in a transaction that reads.
        gives_up: Whether a job fails after too many failures or attempts; otherwise it is tried until it succeeds.
        can_run: Whether a process with these services can do the work; others leave it to those that can.
    """

    name: str
    handler: Handler
    queue: str
    is_cancellable: bool = True
    on_failure: str | None = None
    kept: int | None = None
    gives_up: bool = True
    details: Callable[[Reading, UUID], Awaitable[Mapping[str, Any]]] | None = None
    can_run: Callable[[Services], bool] = lambda _services: True

    async def add(self, db: Writing, payload: Mapping[str, Any]) -> UUID:
        """Queue a job, in the transaction that records its work; returns its id."""
        following = {jobs.ON_FAILURE: self.on_failure} if self.on_failure else {}
        return await jobs.add(db, self.name, {**payload, **following})


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at a job, which began at `began` on the monotonic clock."""

    services: Services
    kind: JobKind
    job: Job
    began: float = field(default_factory=time.monotonic)

    @property
    def db(self) -> Database:
        """The database of the job."""
        return self.services.db

    @property
    def user_id(self) -> str:
        """The user whose job it is."""
        return self.job.user_id

    async def advance(self, db: Transaction, **progress: Any) -> None:
        """Store progress and extend the lease, in the transaction of the work. Raises ClaimLost."""
        if not await jobs.advance(db, self.job, progress={**progress, **self.spent()}, lease_s=LEASE_S):
            raise ClaimLost

    def spent(self) -> dict[str, Any]:
        """The seconds of this and earlier attempts, as they are stored with the progress."""
        return {"seconds": round(self.job.progress.get("seconds", 0) + time.monotonic() - self.began, 2)}

    async def finish(self, db: Transaction, **result: Any) -> None:
        """Mark the job as done in the transaction that completes it, and delete finished jobs beyond `kept`.

        Raises ClaimLost.
        """
        if not await jobs.finish(db, self.job, result=result, spent=self.spent()):
            raise ClaimLost
        if self.kind.kept is not None:
            await jobs.prune(db, self.job, kept=self.kind.kept)


Handler = Callable[[Run], Awaitable[int]]


class Outcomes:
    """The metrics of the jobs that this process has run."""

    def __init__(self) -> None:
        counter = partial(Counter, registry=None)
        self.done = counter("stepwell_jobs", "Background jobs that this process has run.", ["kind"])
        self.chunks = counter("stepwell_job_chunks", "Chunks that those jobs read or stored.", ["kind"])
        meaning = "Attempts at jobs that failed in this process."
        self.failures = counter("stepwell_job_failures", meaning, ["kind", "code"])


def every_kind() -> tuple[JobKind, ...]:
    """The kinds of jobs of all capabilities."""
    return capability.declared("jobs")


async def run_forever(services: Services) -> None:
    """Run the jobs of all users, a loop for each queue, and what capabilities declare as `background`, until cancelled.

    They begin when the database accepts writes. Expired rows are deleted once an hour.
    """
    await wait_until_writable(services.db)
    queues = defaultdict[str, list[JobKind]](list)
    for kind in every_kind():
        queues[kind.queue].append(kind)
    loops = (_run_queue(services, kinds) for kinds in queues.values())
    beside = (run(services) for run in capability.declared("background"))
    await asyncio.gather(_expire_forever(services), *beside, *loops)


async def _expire_forever(services: Services) -> None:
    while True:
        for expire in capability.declared("expires"):
            fields = {"kind": expire.__module__.removeprefix("app.")}
            try:
                async with services.db.shared() as shared:
                    expired = await expire(shared, services)
                if expired:
                    log.info("rows expired: %d", expired, extra={"action": "rows_expired", **fields})
            except errors.StepwellError as error:
                log.warning("expiry postponed: %s", error.code, extra={"action": "expiry_postponed", **fields})
            except Exception:
                log.exception("expiry failed", extra={"action": "expiry_failed", **fields})
        await asyncio.sleep(EXPIRE_EVERY_S)


async def _run_queue(services: Services, kinds: Sequence[JobKind]) -> None:
    """Run the jobs of a queue in turn until cancelled."""
    served: list[str] = []
    while True:
        await asyncio.sleep(IDLE_S)
        try:
            while await run_next(services, kinds, served=served) is not None:
                pass
        except errors.ReadOnly:
            await wait_until_writable(services.db)
        except errors.Unreachable:
            pass  # the pool logs an outage once
        except errors.StepwellError as error:
            log.warning("job postponed: %s", error.code, extra={"action": "job_postponed"})
        except Exception:
            log.exception("job failed", extra={"action": "job_failed"})


async def wait_until_writable(db: Database) -> None:
    """Wait while the database refuses writes."""
    with suppress(errors.StepwellError):  # a database that cannot be asked is not waited for
        while await db.is_read_only():  # noqa: ASYNC110 - the database sends no event
            await asyncio.sleep(READ_ONLY_POLL_S)


async def run_next(
    services: Services, kinds: Sequence[JobKind], *, user_id: str | None = None, served: list[str] | None = None
) -> tuple[str, int] | None:
    """Run the job that has waited longest, of the user served least recently; None if no job waits.

    `served` lists the users whose jobs the caller has run, the latest last; the user of this job is moved to its end.
    Returns the job's kind and what its handler returned, or 0 if the claim was lost. The exception of a job that fails
    is raised. The job is then queued for a later attempt, or has failed for good.
    """
    services = services.whole
    outcomes = services.state(Outcomes)
    by_name = {kind.name: kind for kind in kinds if kind.can_run(services)}
    async with services.db.claiming() as shared:
        job = await jobs.claim(shared, kinds=list(by_name), lease_s=LEASE_S, user_id=user_id, served=served or ())
    if job is None:
        return None
    if served is not None:
        served[:] = [*(name for name in served if name != job.user_id), job.user_id][-MOST_SERVED:]
    run = Run(services, by_name[job.kind], job)
    offload.set_user(job.user_id)
    try:
        if job.attempts > jobs.MAX_ATTEMPTS and run.kind.gives_up:
            raise errors.Conflict("The job has been started too often.")
        count = await _run_leased(run)
        outcomes.done.labels(job.kind).inc()
        outcomes.chunks.labels(job.kind).inc(count)
        log.info("job done", extra={"action": "job_done", "kind": job.kind, "count": count})
        return job.kind, count
    except ClaimLost:
        log.info("job stopped", extra={"action": "job_stopped", "job_id": str(job.job_id)})
        return job.kind, 0
    except asyncio.CancelledError:
        with suppress(errors.StepwellError):
            async with services.db.shared() as shared:
                await jobs.release(shared, job)
        raise
    except Exception as error:
        code = error.code if isinstance(error, errors.StepwellError) else type(error).__name__
        if not await _record_failure(run, error, code):  # such as a write for a source that is gone
            log.info("job stopped", extra={"action": "job_stopped", "job_id": str(job.job_id), "code": code})
            return job.kind, 0
        outcomes.failures.labels(job.kind, code).inc()
        raise


async def _run_leased(run: Run) -> int:
    """The result of the job's handler, which is cancelled when the claim is lost. Raises ClaimLost."""
    working = asyncio.ensure_future(run.kind.handler(run))
    renewing = asyncio.ensure_future(_renew(run))
    try:
        await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClaimLost
        return working.result()
    finally:
        working.cancel()
        renewing.cancel()
        await asyncio.gather(working, renewing, return_exceptions=True)


async def _renew(run: Run) -> None:
    """Extend the lease until the claim is lost."""
    while True:
        await asyncio.sleep(RENEW_S)
        with suppress(errors.StepwellError):
            async with run.db.shared() as shared:
                if not await jobs.renew(shared, run.job, lease_s=LEASE_S):
                    return


async def _record_failure(run: Run, error: Exception, code: str) -> bool:
    """Queue the job again, unless its kind gives up because another attempt would fail too or too many have failed.

    Returns false if the claim was lost: a job that was cancelled has not failed.

    Failures because a remote model is not available, its key or name is wrong, or the disk is full do not count: the
    job waits.
    """
    job = run.job
    is_refused = isinstance(error, errors.StepwellError) and error.status < 500
    is_outage = isinstance(error, remote_calls.ProviderDown | errors.DiskFull)
    pause_s = min(RETRY_S * 2 ** min(job.failures, 10), OUTAGE_RETRY_S if is_outage else MAX_RETRY_S)
    is_final = is_refused or (job.failures + 1 >= jobs.MAX_FAILURES and not is_outage)
    async with run.db.shared() as shared:
        if is_final and run.kind.gives_up:
            return await jobs.fail(shared, job, error=code)
        return await jobs.retry_later(shared, job, error=code, after_s=pause_s)
