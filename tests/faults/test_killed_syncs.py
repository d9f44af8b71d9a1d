"""Nothing is lost or doubled when workers and Postgres are killed at random points of a synchronisation.

STEPWELL_FAULTS=full kills each 20 times during the synchronisation of 2,000 files; with `-s` it prints the rates.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from uuid import UUID

import asyncpg
import psutil
import pytest
import running_service
import server_folders
import source_folder
from harness import Tenant

from app.database import pools, transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.derived_rows import Damage
from app.jobs import followed_jobs
from app.maintenance import repair
from app.sources import sources
from app.text.names import tags

KILLS, FILES, GROUP = (20, 2_000, 10) if running_service.FULL else (2, 30, 1)
WORKER = Path(__file__).parents[1] / "sync_worker.py"
DONE = "SELECT coalesce(CAST(progress->>'done' AS integer), 0) FROM stepwell.jobs WHERE job_id = $1"
EXPIRE = "UPDATE stepwell.jobs SET leased_until = now(), run_at = now() WHERE job_id = $1 AND status <> 'done'"


@pytest.fixture
async def killable() -> AsyncIterator[postgres.EmbeddedPostgres]:
    """A server of this test's own, made to die."""
    with server_folders.temporary() as folder:
        async with postgres.EmbeddedPostgres(folder / "data", tuning=postgres.SMALL) as started:
            await migration.upgrade(started.owner_dsn, model="fake", dimension=384)
            yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the source."""
    return tmp_path.resolve()


async def test_a_synchronisation_survives_killed_workers_and_a_killed_database(
    killable: postgres.EmbeddedPostgres, folder: Path
) -> None:
    if running_service.FULL:
        faulthandler.cancel_dump_traceback_later()  # it takes longer than other tests may
    chance = random.Random(11)
    hooks = pools.ServerHooks(killable.ensure_running)
    database = transactions.connect(killable.service_dsn, pool_size=4, pool_wait_s=30, hooks=hooks)
    tenant = Tenant(database)
    paths = source_folder.fill(folder, FILES, kinds=("md", "txt", "csv", "html"))
    added = await source_folder.add(tenant, folder)
    with _rated("a new folder", FILES, killable):
        await source_folder.work(tenant)
    changed = source_folder.disturb(folder, paths, chance)
    job_id = await sources.sync(added.source.source_id, tenant.user_id, db=database)
    total = sum(changed.counts.values()) - changed.counts["unchanged"]
    points = sorted(chance.sample(range(1, total - 2), 2 * KILLS))
    victims = ["worker", "postgres"] * KILLS
    began = time.monotonic()
    async with _worker(killable) as worker:
        for point, victim in zip(points, victims, strict=True):
            await _reached(killable, job_id, point)
            if victim == "worker":
                await worker.killed()
            else:
                server_folders.kill(killable)
            await killable.ensure_running()
            if victim == "worker":
                await worker.start()
            await _execute(killable, EXPIRE, job_id)
        await running_service.until(lambda: _is_done(tenant, job_id))
    took = time.monotonic() - began
    print(f"the changed folder with {2 * KILLS} kills: {total} files in {took:.0f} s, {total / took:.1f} a second")
    state = await followed_jobs.get(job_id, tenant.user_id, db=database)
    assert source_folder.counts(state) == dict(changed.counts)
    assert state.attempts > KILLS
    fresh = Tenant(database)
    with _rated("the changed folder for another user", source_folder.count(folder), killable):
        await source_folder.synced(fresh, await source_folder.add(fresh, folder))
    assert await source_folder.stored(tenant) == await source_folder.stored(fresh)
    assert (await repair.check(tenant.user_id, db=database, keys=tags.KEYS)).damage == Damage()
    await database.close()


@contextmanager
def _rated(name: str, files: int, server: postgres.EmbeddedPostgres) -> Iterator[None]:
    """Prints the rate at which a block stores files, and the CPU time of this process and of Postgres per file."""
    before = time.monotonic(), time.process_time(), _cpu_s(server)
    yield
    after = time.monotonic(), time.process_time(), _cpu_s(server)
    took, service, postgres = (end - start for end, start in zip(after, before, strict=True))
    per_file = (
        f"{1_000 * service / files:.1f} ms of the service and {1_000 * postgres / files:.1f} ms of Postgres a file"
    )
    print(f"{name}: {files} files in {took:.0f} s, {files / took:.1f} a second; {per_file}")


def _cpu_s(server: postgres.EmbeddedPostgres) -> float:
    """The CPU time of a server with all its processes, ended ones included."""
    main = psutil.Process(server.postmaster_pid)
    running = sum(sum(child.cpu_times()[:2]) for child in main.children(recursive=True))
    return float(sum(main.cpu_times()[:4]) + running)


class Worker:
    """A process that runs the jobs."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts the process."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, str(WORKER), self._dsn, str(GROUP), cwd=running_service.ROOT,
            stderr=asyncio.subprocess.DEVNULL, env={**inherited, "PYTHONPATH": str(running_service.ROOT)},
        )  # fmt: skip

    async def killed(self) -> None:
        """Kills the process."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def _worker(server: postgres.EmbeddedPostgres) -> AsyncIterator[Worker]:
    worker = Worker(server.service_dsn)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.killed()


async def _reached(server: postgres.EmbeddedPostgres, job_id: UUID, point: int) -> None:
    """Returns once this many files are done."""
    connection = await asyncpg.connect(server.dsn(user=postgres.OWNER, driver="postgresql"))
    try:

        async def there() -> bool:
            return int(await connection.fetchval(DONE, job_id)) >= point

        await running_service.until(there)
    finally:
        await connection.close()


async def _execute(server: postgres.EmbeddedPostgres, statement: str, job_id: UUID) -> None:
    connection = await asyncpg.connect(server.dsn(user=postgres.OWNER, driver="postgresql"))
    await connection.execute(statement, job_id)
    await connection.close()


async def _is_done(tenant: Tenant, job_id: UUID) -> bool:
    return (await followed_jobs.get(job_id, tenant.user_id, db=tenant.db)).is_final
