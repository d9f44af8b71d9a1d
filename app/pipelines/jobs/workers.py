"""Runs background jobs: claims them one at a time, renews their leases and repeats failed ones.

A worker that dies leaves its job to another one, which claims it when the lease has expired and continues it from its
stored progress. A job that was cancelled, or claimed by another worker, is stopped at the next renewal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app import errors
from app.providers.calls import policy
from app.store.connection.transactions import Database
from app.store.jobs import jobs
from app.store.jobs.jobs import Job

log = logging.getLogger(__name__)

LEASE_S = 20.0
RENEW_S = 5.0
IDLE_S = 1.0
"""Pause of a worker between two looks for jobs."""
READ_ONLY_POLL_S = 2.0
"""Pause between two looks whether a database accepts writes again."""
RETRY_S, MAX_RETRY_S = 5.0, 300.0
"""Pause before the second attempt, which is doubled for each further one, and the longest pause."""
OUTAGE_RETRY_S = 60.0
"""The longest pause while a remote model is not available."""


class ClaimLost(errors.StepwellError):
    """The job was cancelled, or another worker has claimed it."""

    code = "claim_lost"

    def __init__(self) -> None:
        super().__init__("The job was cancelled, or another worker has claimed it.")


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at a job."""

    db: Database
    job: Job

    async def advance(self, **progress: Any) -> None:
        """Store progress and extend the lease. Raises ClaimLost."""
        async with self.db.shared() as shared:
            if not await jobs.advance(shared, self.job, progress=progress, lease_s=LEASE_S):
                raise ClaimLost


Handler = Callable[[Run], Awaitable[int]]
"""Does the work of a job, marks it as done in the transaction that completes it, and returns how much was done."""


async def run_forever(db: Database, handlers: Mapping[str, Handler], *, done: Callable[[str, int], None]) -> None:
    """Run the jobs of all users until cancelled; `done` is called after each with its kind and what it returned."""
    while True:
        await asyncio.sleep(IDLE_S)
        try:
            while (ran := await run_next(db, handlers)) is not None:
                done(*ran)
        except errors.ReadOnly:
            await until_writable(db)
        except errors.StepwellError as error:
            log.warning("job postponed: %s", error.code, extra={"action": "job_postponed"})
        except Exception:
            log.exception("job failed", extra={"action": "job_failed"})


async def until_writable(db: Database) -> None:
    """Wait while the database is a standby or refuses writes for another reason."""
    while await _is_read_only(db):  # noqa: ASYNC110 - the database sends no event
        await asyncio.sleep(READ_ONLY_POLL_S)


async def _is_read_only(db: Database) -> bool:
    """Whether the database lets this process read only; false if it cannot be asked."""
    with suppress(errors.StepwellError):
        return await db.is_read_only()
    return False


async def run_next(
    db: Database, handlers: Mapping[str, Handler], *, user_id: str | None = None
) -> tuple[str, int] | None:
    """Run the job that has waited longest; returns its kind and what was done, None if no job waits.

    A job that fails is queued again for a later attempt, and its exception is raised.
    """
    async with db.shared() as shared:
        job = await jobs.claim(shared, kinds=list(handlers), lease_s=LEASE_S, user_id=user_id)
    if job is None:
        return None
    try:
        if job.attempts > jobs.MAX_ATTEMPTS:
            raise errors.Conflict("The job has been started too often.")
        return job.kind, await _leased(db, job, handlers[job.kind])
    except ClaimLost:
        log.info("job stopped", extra={"action": "job_stopped", "job_id": str(job.job_id)})
        return job.kind, 0
    except asyncio.CancelledError:
        with suppress(errors.StepwellError):
            async with db.shared() as shared:
                await jobs.release(shared, job)
        raise
    except Exception as error:
        await _record_failure(db, job, error)
        raise


async def _leased(db: Database, job: Job, handler: Handler) -> int:
    """The result of the handler, which is cancelled when the claim is lost. Raises ClaimLost."""
    working = asyncio.ensure_future(handler(Run(db, job)))
    renewing = asyncio.ensure_future(_renew(db, job))
    try:
        await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClaimLost
        return working.result()
    finally:
        working.cancel()
        renewing.cancel()
        await asyncio.gather(working, renewing, return_exceptions=True)


async def _renew(db: Database, job: Job) -> None:
    """Extend the lease until the claim is lost; returns then."""
    while True:
        await asyncio.sleep(RENEW_S)
        with suppress(errors.StepwellError):
            async with db.shared() as shared:
                if not await jobs.renew(shared, job, lease_s=LEASE_S):
                    return


async def _record_failure(db: Database, job: Job, error: Exception) -> None:
    """Queue the job again, unless another attempt would fail too or too many have failed.

    Failures because a remote model is not available are not too many: the job waits for the end of the outage.
    """
    code = error.code if isinstance(error, errors.StepwellError) else type(error).__name__
    is_refused = isinstance(error, errors.StepwellError) and error.status < 500
    is_outage = policy.is_outage(error)
    pause_s = min(RETRY_S * 2 ** min(job.failures, 10), OUTAGE_RETRY_S if is_outage else MAX_RETRY_S)
    async with db.shared() as shared:
        if is_refused or (job.failures + 1 >= jobs.MAX_FAILURES and not is_outage):
            await jobs.fail(shared, job, error=code)
        else:
            await jobs.retry_later(shared, job, error=code, after_s=pause_s)
