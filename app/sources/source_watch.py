"""Queues jobs for watched sources: after events of the file system, and in intervals in case an event was missed.

Several processes may watch the same source: a job that waits already is not queued again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import watchfiles
from watchfiles import Change

from app import errors
from app.database.transactions import Database
from app.documents.files import folders
from app.services import Services
from app.sources import operations as sources
from app.sources import store
from app.sources.types import SourceRoots

log = logging.getLogger(__name__)

DEBOUNCE_MS = 1_000
"""Longest time for which events are collected."""
PAUSE_S = 5.0
"""Shortest time between jobs of a source, so that a file that is written all the time does not occupy a processor."""
WITHOUT_EVENTS_S = 60.0
"""Longest pause before events are tried again where the system does not send them."""
RELOAD_MS = 2_000
"""Time after which the list of watched sources is read again, if there is no event."""


async def run_forever(services: Services) -> None:
    """Watch the sources of all users until cancelled."""
    watch = _Watch(services.db, services.option(SourceRoots).watch_interval_s)
    while True:
        await asyncio.sleep(RELOAD_MS / 1000)  # also at the start of a service, which has other work to do
        try:
            while await watch.follow():  # at once, because no event of the meantime is received
                pass
        except errors.Unreachable:
            pass  # the pool logs an outage once
        except errors.StepwellError as error:
            log.warning("watching postponed: %s", error.code, extra={"action": "watch_postponed"})
        except (OSError, RuntimeError) as error:  # such as a limit of the system on the number of watched folders
            log.warning("events are not available: %s", error, extra={"action": "watch_without_events"})
            await asyncio.sleep(min(services.option(SourceRoots).watch_interval_s, WITHOUT_EVENTS_S))
        except Exception:
            log.exception("watching failed", extra={"action": "watch_failed"})


@dataclass(slots=True)
class _Watch:
    """The folders of the watched sources by user and id, and when a job was last queued for each.

    `changed` has the sources with events after that, `existing` the folders that existed then.
    """

    db: Database
    interval_s: float
    listed: dict[tuple[str, UUID], Path] = field(default_factory=dict)
    queued: dict[tuple[str, UUID], float] = field(default_factory=dict)
    changed: set[tuple[str, UUID]] = field(default_factory=set)
    existing: dict[Path, tuple[int, int]] = field(default_factory=dict)

    async def follow(self) -> bool:
        """Queue jobs after events and in intervals, until other folders are to be watched; False if none exists.

        A folder that was replaced by another one, such as that of a disk that was mounted, sends no more events.
        """
        watched = await self.queue_due()
        if not watched:
            return False
        events = watchfiles.awatch(
            *watched,
            watch_filter=is_relevant,
            debounce=DEBOUNCE_MS,
            rust_timeout=RELOAD_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        async for changes in events:
            self.note({folder for _change, path in changes for folder in (Path(path), *Path(path).parents)})
            if watched != await self.queue_due():
                return True
        return False

    def note(self, changed: Set[Path]) -> None:
        """Note events in some folders."""
        self.changed |= {source for source, folder in self.listed.items() if folder in changed}

    async def queue_due(self) -> dict[Path, tuple[int, int]]:
        """Queue a job for each source with events, or without a job for the interval; returns the existing folders.

        The values tell a folder from another one of the same path.
        """
        async with self.db.shared() as shared:
            rows = await store.watched(shared)
        self.listed = {(user_id, source_id): Path(folder) for user_id, source_id, folder in rows}
        self.queued = {source: at for source, at in self.queued.items() if source in self.listed}
        self.changed &= self.listed.keys()
        before, self.existing = self.existing, await asyncio.to_thread(_existing, self.listed.values())
        self.note({folder for folder, state in self.existing.items() if state != before.get(folder)})
        now = time.monotonic()
        for source in self.listed:
            pause_s = PAUSE_S if source in self.changed else self.interval_s
            if now - self.queued.get(source, -pause_s) >= pause_s:
                user_id, source_id = source
                with suppress(errors.NotFound):
                    await sources.sync(source_id, user_id, db=self.db)
                self.queued[source] = now
                self.changed.discard(source)
        return self.existing


def is_relevant(_change: Change, path: str) -> bool:
    """Whether an event may concern a file of a source.

    Hidden files other than .gitignore do not, nor do the files of a Postgres server, which writes all the time.
    """
    name = Path(path).name
    return (name == ".gitignore" or not name.startswith(".")) and not folders.is_in_database(Path(path).parent)


def _existing(listed: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """The device and the inode of the folders that exist, without those inside of others."""
    existing = dict[Path, tuple[int, int]]()
    for folder in sorted(listed):
        with suppress(OSError):
            state = folder.stat()
            existing[folder] = state.st_dev, state.st_ino
    return {folder: existing[folder] for folder in existing if existing.keys().isdisjoint(folder.parents)}
