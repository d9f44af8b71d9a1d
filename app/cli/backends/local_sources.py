"""Adds, synchronises and removes sources with the services that a command has opened, which run their jobs."""

from __future__ import annotations

import asyncio
from uuid import UUID

from app import errors
from app.api.jobs.job_models import StoredJob
from app.api.sources.source_models import AddedSourceResult, CountedSource, SourceDeletion, SourceInput
from app.cli import owning
from app.cli.backends import extraction, requests
from app.cli.backends.backend import Answer, Body, Progress
from app.pipelines.jobs import followed_jobs, kinds
from app.pipelines.running import workers
from app.pipelines.running.services import Services
from app.pipelines.sources import sources
from app.store.connection.transactions import Database

WAIT_S = 0.2


async def listed(user_id: str, db: Database) -> list[Answer]:
    """Sources, newest first."""
    found = await sources.page(user_id, db=db, limit=sources.MAX_SOURCES)
    return [CountedSource.counted(state, listed=True).model_dump(mode="json") for state in found]


async def get(key: str, user_id: str, db: Database) -> Answer:
    """A source by its id, name or folder. Raises NotFound, Conflict."""
    state = await sources.get(await _id(key, user_id, db), user_id, db=db)
    return CountedSource.counted(state).model_dump(mode="json")


async def add(request: Body, user_id: str, services: Services, *, confined: bool, progress: Progress) -> Answer:
    """The source, and its `job` once that has ended."""
    added = await sources.add(requests.read(SourceInput, request).shape(), user_id, services, confined=confined)
    job = await _run(added.job_id, user_id, services, progress)
    return {**AddedSourceResult.added(added).model_dump(mode="json"), "job": job}


async def sync(key: str, user_id: str, services: Services, progress: Progress) -> Answer:
    """The job that has synchronised a source."""
    source_id = await _id(key, user_id, services.db)
    return await _run(await sources.sync(source_id, user_id, db=services.db), user_id, services, progress)


async def remove(key: str, user_id: str, services: Services) -> Answer:
    """The numbers of deleted rows."""
    source_id = await _id(key, user_id, services.db)
    removed = await sources.delete(source_id, user_id, services, actor=owning.actor())
    return SourceDeletion.done(removed).model_dump(mode="json")


async def _id(key: str, user_id: str, db: Database) -> UUID:
    (found,) = await sources.find([key], user_id, db=db)
    return found


async def _run(job_id: UUID, user_id: str, services: Services, progress: Progress) -> Answer:
    """Run the user's jobs here, or wait for other workers, until a job has ended."""
    working = asyncio.ensure_future(_work(user_id, services))
    try:
        async for state in followed_jobs.follow(job_id, user_id, db=services.db):
            if working.done():
                working.result()
            if state is not None:
                progress(StoredJob.of(state).model_dump(mode="json"))
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    await extraction.finish(user_id, services)
    return StoredJob.of(await followed_jobs.get(job_id, user_id, db=services.db)).model_dump(mode="json")


async def _work(user_id: str, services: Services) -> None:
    """Run the user's jobs until cancelled; those that fail are repeated or show why."""
    while True:
        try:
            ran = await workers.run_next(services, kinds.ALL, user_id=user_id)
        except errors.StepwellError:
            ran = None
        if ran is None:
            await asyncio.sleep(WAIT_S)
