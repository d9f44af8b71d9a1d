"""Tests of the endpoints for background jobs."""

from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from api_caller import Caller

from app import errors
from app.database.schema import tables
from app.database.transactions import Database
from app.jobs import operations as job_operations
from app.jobs import store as jobs
from app.jobs.store import JobState

JOBS = "/api/rag/jobs"


async def _queue(database: Database, caller: Caller, kind: str = "unknown_to_workers") -> UUID:
    async with database.writing(caller.user_id) as writing:
        return await jobs.add(writing, kind, {"document_id": str(uuid4())})


async def test_a_job_is_listed_read_and_cancelled(caller: Caller, database: Database) -> None:
    ids = [str(await _queue(database, caller)) for _ in range(3)]
    pages = [[job["job_id"] for job in page["jobs"]] async for page in caller.pages(JOBS, limit=2)]
    assert pages == [ids[:0:-1], ids[:1]]
    shown = (await caller.client.get(f"{JOBS}/{ids[0]}")).json()
    assert (shown["status"], shown["attempts"], shown["finished_at"]) == ("queued", 0, None)
    assert shown["document_id"] is not None
    cancelled = await caller.client.post(f"{JOBS}/{ids[0]}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert (await caller.client.post(f"{JOBS}/{ids[0]}/cancel")).json() == cancelled.json()
    listed = (await caller.client.get(JOBS, params={"status": "cancelled"})).json()["jobs"]
    assert [job["job_id"] for job in listed] == ids[:1]


@pytest.mark.parametrize(("kind", "status"), [("relink", "done"), ("store_document", "cancelled")])
async def test_a_followed_job_that_is_removed_ends_as_done_if_its_kind_is_removed_when_it_finishes(
    caller: Caller, database: Database, kind: str, status: str
) -> None:
    job_id = await _queue(database, caller, kind)
    found = await job_operations.get(job_id, caller.user_id, db=database)
    states = job_operations.follow(found, caller.user_id, db=database)
    first = await anext(states)
    async with database.writing(caller.user_id) as writing:
        await writing.execute(sa.delete(tables.jobs).where(tables.jobs.c.job_id == job_id))
    assert [(state.job_id, state.status) async for state in states if state] == [(job_id, status)]
    assert first is not None
    assert first.status == "queued"


async def test_a_followed_job_counts_as_unchanged_while_the_database_gives_no_answer_in_time(
    caller: Caller, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, read = await _queue(database, caller), job_operations.get
    found = await read(job_id, caller.user_id, db=database)
    failures = iter([errors.DeadlineExceeded("It is slow."), errors.DatabaseUnavailable("It is away.")])

    async def slow(*args: Any, **options: Any) -> JobState:
        for failure in failures:
            raise failure
        return await read(*args, **options)

    monkeypatch.setattr(job_operations, "get", slow)
    monkeypatch.setattr(job_operations, "POLL_S", 0.0)
    monkeypatch.setattr(job_operations, "KEEP_ALIVE_S", 0.0)
    states = job_operations.follow(found, caller.user_id, db=database)
    assert await anext(states) == found
    assert [await anext(states) for _ in range(2)] == [None, None]
    assert next(failures, None) is None, "both have been met"
    await job_operations.cancel(job_id, caller.user_id, db=database)
    ended = await anext(states)
    assert ended is not None
    assert ended.status == "cancelled"
