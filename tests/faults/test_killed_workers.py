"""A worker process that is killed in the middle of a job loses nothing: another one continues the job."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import running_service
from harness import Tenant

from app.database.transactions import Database
from app.derived_rows import Damage
from app.documents import documents
from app.documents.storing import ingest, large_documents
from app.documents.types import Upload
from app.maintenance import repair
from app.text.names import tags

WORKER = Path(__file__).parents[1] / "sync_worker.py"
LANDINGS = 150
KILLS = 4 if running_service.FULL else 2
TEXT = "# Stair\n\n" + "\n\n".join(
    f"## Landing {n}\n\n" + f"Ilse Brandt laid stone {n} in lime mortar, never in cement. " * 9 for n in range(LANDINGS)
)
STATE = "SELECT status, progress->>'step', attempts FROM stepwell.jobs WHERE job_id = $1"
EXPIRE = "UPDATE stepwell.jobs SET leased_until = now() WHERE job_id = $1 AND status = 'running'"


async def _start(dsn: str) -> asyncio.subprocess.Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    return await asyncio.create_subprocess_exec(
        sys.executable, str(WORKER), dsn, "1", cwd=running_service.ROOT, stderr=asyncio.subprocess.DEVNULL,
        env={**inherited, "PYTHONPATH": str(running_service.ROOT)},
    )  # fmt: skip


async def test_a_job_of_killed_workers_is_finished_and_nothing_is_lost_or_doubled(
    address: Any, database: Database, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_documents, "LARGE", 10_000)
    tenant = Tenant(database)
    before = await tenant.add("The stair before.", "stair")
    queued = await ingest.run(Upload(TEXT, uri="stair"), tenant.user_id, tenant.services(), ingest.IN_JOB)
    assert queued.job_id is not None
    steps = []
    for _ in range(KILLS):
        worker = await _start(address.service_dsn)
        steps.append(await _reached_another_step(owner, queued.job_id, steps))
        worker.kill()
        await worker.wait()
        await owner.execute(EXPIRE, queued.job_id)
        assert (await documents.get(before.document_id, tenant.user_id, db=database)).content == "The stair before."
    worker = await _start(address.service_dsn)
    try:
        await running_service.until(lambda: _all_done(owner, tenant.user_id))
    finally:
        worker.kill()
        await worker.wait()
    status, _step, attempts = await owner.fetchrow(STATE, queued.job_id)
    assert (status, attempts) == ("done", KILLS + 1)
    chunks = await documents.chunks(queued.document_id, tenant.user_id, db=database, limit=500, offset=0)
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert {f"stone {n} in" for n in range(LANDINGS)} <= {
        f"stone {n} in" for n in range(LANDINGS) if any(f"stone {n} in" in chunk.content for chunk in chunks)
    }
    assert (await repair.check(tenant.user_id, db=database, keys=tags.KEYS)).damage == Damage()


async def _reached_another_step(owner: Any, job_id: UUID, steps: list[str]) -> str:
    """The step of the job, once it runs and is in a later step than before, or past the first."""

    async def there() -> bool:
        status, step, _attempts = await owner.fetchrow(STATE, job_id)
        return status == "running" and step is not None and step not in steps

    await running_service.until(there)
    return str((await owner.fetchrow(STATE, job_id))[1])


async def _all_done(owner: Any, user_id: str) -> bool:
    waiting = "SELECT count(*) FROM stepwell.jobs WHERE user_id = $1 AND status IN ('queued', 'running')"
    return int(await owner.fetchval(waiting, user_id)) == 0
