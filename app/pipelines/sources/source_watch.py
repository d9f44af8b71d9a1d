"""Queues jobs for watched sources: after events of the file system, and in intervals in case an event was missed.

Events are collected until the folder has been quiet for a moment. Several processes may watch the same source: a job
that waits already is not queued again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import watchfiles
from watchfiles import Change

from app import errors
from app.pipelines.running.services import Services
from app.pipelines.sources import folders
from app.pipelines.sources import sources as source_jobs
from app.store.connection.transactions import Database
from app.store.sources import sources

log = logging.getLogger(__name__)

DEBOUNCE_MS = 1_000
"""Longest time for which events are collected."""
WITHOUT_EVENTS_S = 60.0
"""Longest pause before events are tried again where the system does not send them."""
RELOAD_MS = 2_000
"""Time after which the list of watched sources is read again, if there is no event."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A watched source."""

    user_id: str
    source_id: UUID
    folder: Path


@dataclass(slots=True)
class _Watch:
    """The watched sources, those for which a job is to be queued, and when each was last compared as a whole."""

    db: Database
    interval_s: float
    listed: frozenset[Watched] = frozenset()
    dirty: set[Watched] = field(default_factory=set)
    compared: dict[Watched, float] = field(default_factory=dict)

    async def reload(self) -> bool:
        """Read the list of watched sources; whether it has changed. A new one is compared at once."""
        async with self.db.shared() as shared:
            rows = await sources.watched(shared)
        before, self.listed = self.listed, frozenset(Watched(user, one, Path(folder)) for user, one, folder in rows)
        self.compared = {one: at for one, at in self.compared.items() if one in self.listed}
        return self.listed != before

    def notice(self, paths: Iterable[str]) -> None:
        """Note the sources whose folders contain one of the paths."""
        changed = [Path(path) for path in paths]
        for one in self.listed:
            if any(path.is_relative_to(one.folder) for path in changed):
                self.dirty.add(one)

    async def queue(self) -> None:
        """Queue a job for each source with events, or without a comparison for the interval."""
        now = time.monotonic()
        due = {one for one in self.listed if now - self.compared.get(one, -self.interval_s) >= self.interval_s}
        for one in (self.dirty & self.listed) | due:
            with suppress(errors.NotFound):
                await source_jobs.sync(one.source_id, one.user_id, db=self.db)
            self.dirty.discard(one)
            self.compared[one] = now
        self.dirty &= self.listed


async def run_forever(services: Services) -> None:
    """Watch the sources of all users until cancelled."""
    watch = _Watch(services.db, services.watch_interval_s)
    await asyncio.sleep(RELOAD_MS / 1000)  # the start of a service has other work to do
    while True:
        try:
            await watch.reload()
            await watch.queue()
            await _until_changed(watch)
        except errors.StepwellError as error:
            log.warning("watching postponed: %s", error.code, extra={"action": "watch_postponed"})
            await asyncio.sleep(RELOAD_MS / 1000)
        except Exception:
            log.exception("watching failed", extra={"action": "watch_failed"})
            await asyncio.sleep(RELOAD_MS / 1000)


async def _until_changed(watch: _Watch) -> None:
    """Queue jobs after events until the list of watched sources, or whether their folders exist, has changed."""
    folders = await asyncio.to_thread(_existing, watch.listed)
    if not folders:
        await asyncio.sleep(RELOAD_MS / 1000)
        return
    try:
        await _follow(watch, folders)
    except (OSError, RuntimeError) as error:  # such as a limit of the system on the number of watched folders
        log.warning("events are not available: %s", error, extra={"action": "watch_without_events"})
        await asyncio.sleep(min(watch.interval_s, WITHOUT_EVENTS_S))


async def _follow(watch: _Watch, folders: list[Path]) -> None:
    """Queue jobs after events in these folders until the watched ones are others."""
    events = watchfiles.awatch(
        *folders,
        watch_filter=is_relevant,
        debounce=DEBOUNCE_MS,
        rust_timeout=RELOAD_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    async for changes in events:
        watch.notice(path for _change, path in changes)
        changed = await watch.reload()
        await watch.queue()
        if changed or folders != await asyncio.to_thread(_existing, watch.listed):
            return


def is_relevant(_change: Change, path: str) -> bool:
    """Whether an event may concern a file of a source.

    Hidden files do not, besides .gitignore, and those of a Postgres server, which writes all the time.
    """
    name = Path(path).name
    return (name == ".gitignore" or not name.startswith(".")) and not folders.is_in_database(Path(path).parent)


def _existing(listed: Iterable[Watched]) -> list[Path]:
    """The folders that exist, without those inside of others."""
    folders = sorted({one.folder for one in listed if one.folder.is_dir()})
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]
