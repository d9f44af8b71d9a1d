"""A watched source is synchronised after a change in its folder, and in intervals without any event."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import pytest
import source_folder
import watchfiles
from harness import Tenant
from watchfiles import Change

from app import errors
from app.database.transactions import Database
from app.documents import selections
from app.jobs import operations as job_operations
from app.sources import operations as sources
from app.sources import source_watch, store
from app.sources.types import SourceRoots


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a source with a file."""
    source_folder.write(tmp_path, "deep/a.md", b"Lime.")
    return tmp_path.resolve()


async def _queued(database: Database, tenant: Tenant, before: set[Any]) -> None:
    """Returns once the user has a job that is not among those of before, for ten seconds at most."""
    async with asyncio.timeout(10):
        while {job.job_id for job in await job_operations.page(tenant.user_id, db=database, limit=9)} <= before:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@asynccontextmanager
async def _watching(tenant: Tenant, folder: Path, interval_s: float) -> AsyncIterator[set[Any]]:
    """Watches a source, which has been compared at the start of watching; the jobs so far."""
    added = await source_folder.stored_source(tenant, folder, watch=True)
    services = replace(tenant.services(), options={SourceRoots: SourceRoots(watch_interval_s=interval_s)})
    watching = asyncio.create_task(source_watch.run_forever(services))
    await _queued(tenant.db, tenant, {added.job_id})
    await source_folder.work(tenant)
    try:
        yield {job.job_id for job in await job_operations.page(tenant.user_id, db=tenant.db, limit=9)}
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_watch, "DEBOUNCE_MS", 50)
    monkeypatch.setattr(source_watch, "RELOAD_MS", 200)
    monkeypatch.setattr(source_watch, "PAUSE_S", 0.05)


async def test_changes_in_the_folder_are_stored(tenant: Tenant, folder: Path) -> None:
    async with _watching(tenant, folder, interval_s=10_000) as before:
        source_folder.write(folder, "deep/b.md", b"Sand.")
        await _queued(tenant.db, tenant, before)
        await source_folder.work(tenant)
        assert {uri.rpartition("/")[2] for uri in await source_folder.ids(tenant)} == {"a.md", "b.md"}


async def test_a_folder_that_another_one_has_replaced_is_watched(tenant: Tenant, folder: Path) -> None:
    async with _watching(tenant, folder, interval_s=10_000):
        source_folder.moved_away(folder)
        for name in ("b.md", "c.md"):
            source_folder.write(folder, name, name.encode())
            async with asyncio.timeout(10):
                while (folder / name).as_uri() not in await source_folder.ids(tenant):
                    await source_folder.work(tenant)
                    await asyncio.sleep(0.05)


@pytest.mark.parametrize("fails", [False, True])
async def test_without_events_the_folder_is_compared_in_intervals(tenant, folder, monkeypatch, fails) -> None:
    async def silent(*_folders: Path, **options: Any) -> Any:
        if fails:
            raise OSError(28, "inotify watch limit reached")
        while True:
            await asyncio.sleep(options["rust_timeout"] / 1000)
            yield set()

    monkeypatch.setattr(watchfiles, "awatch", silent)
    async with _watching(tenant, folder, interval_s=0.3) as before:
        await _queued(tenant.db, tenant, before)


async def test_changes_soon_after_a_job_wait_for_the_end_of_the_pause(tenant, folder, monkeypatch) -> None:
    await source_folder.stored_source(tenant, folder, watch=True)
    watch, jobs = source_watch._Watch(tenant.db, 10_000), []
    for pause_s in (10_000, 10_000, 0):
        monkeypatch.setattr(source_watch, "PAUSE_S", pause_s)
        await watch.queue_due()
        watch.note({folder})
        await source_folder.work(tenant)
        jobs.append(len(await job_operations.page(tenant.user_id, db=tenant.db, limit=9)))
    assert jobs == [2, 2, 3]


async def test_a_folder_that_was_missing_is_compared_when_it_is_back(tenant, folder, monkeypatch) -> None:
    monkeypatch.setattr(source_watch, "PAUSE_S", 0)
    await source_folder.stored_source(tenant, folder := folder / "deep", watch=True)
    watch, jobs = source_watch._Watch(tenant.db, 10_000), []
    for change in (lambda _folder: None, source_folder.moved_away, source_folder.make_empty):
        await source_folder.work(tenant)
        change(folder)
        await watch.queue_due()
        jobs.append(len(await job_operations.page(tenant.user_id, db=tenant.db, limit=9)))
    assert jobs == [2, 2, 3]


async def test_a_source_that_is_not_watched_any_more_is_left_out(tenant: Tenant, folder: Path) -> None:
    added = await source_folder.add(tenant, folder, watch=True)
    watch = source_watch._Watch(tenant.db, 1.0)
    assert folder in await watch.queue_due()
    await sources.watch(added.source.source_id, tenant.user_id, db=tenant.db, watched=False)
    assert folder not in await watch.queue_due()
    assert (tenant.user_id, added.source.source_id) not in watch.queued


async def test_what_another_process_changes_in_a_source_is_kept_when_it_is_watched(
    tenant: Tenant, elsewhere: Database, owner: Any, folder: Path
) -> None:
    source_id = (await source_folder.add(tenant, folder)).source.source_id
    async with elsewhere.locking(tenant.user_id) as other:
        draft = (await store.get(other, source_id)).draft
        await store.change(other, source_id, replace(draft, name="Letters"), reread=False)
        watching = asyncio.create_task(sources.watch(source_id, tenant.user_id, db=tenant.db, watched=True))
        async with asyncio.timeout(10):
            while not await owner.fetchval(harness.WAITING):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    await watching
    found = await sources.get(source_id, tenant.user_id, db=tenant.db)
    assert (found.name, found.draft.watch) == ("Letters", True)


async def test_an_interrupted_deletion_is_not_undone(tenant: Tenant, folder: Path, monkeypatch) -> None:
    async def interrupted(*_given: Any, **_named: Any) -> Any:
        raise errors.DatabaseUnavailable("It was stopped.")

    added = await source_folder.add(tenant, folder, watch=True)
    watch = source_watch._Watch(tenant.db, 1.0)
    assert folder in await watch.queue_due()
    monkeypatch.setattr(selections, "delete", interrupted)
    with pytest.raises(errors.DatabaseUnavailable):
        await sources.delete(added.source.source_id, tenant.user_id, tenant.services(), actor="test")
    assert folder not in await watch.queue_due()


def test_the_folders_of_many_users_are_listed_in_linear_time(tmp_path: Path) -> None:
    times = []
    for count in (250, 2_000):
        folders = [tmp_path / f"user-{number}" for number in range(count)]
        for folder in folders:
            (folder / "inside").mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        assert list(source_watch._existing([folder / "inside" for folder in folders] + folders)) == sorted(folders)
        times.append(time.process_time() - began)
    assert times[1] / times[0] < 20, "64 in quadratic time"


@pytest.mark.parametrize(
    ("path", "relevant"), [("/a/b.md", True), ("/a/.gitignore", True), ("/a/.b.md.swp", False), ("/a/.git", False)]
)
def test_events_of_hidden_files_are_left_out(path: str, relevant: bool) -> None:
    assert source_watch.is_relevant(Change.modified, path) is relevant
