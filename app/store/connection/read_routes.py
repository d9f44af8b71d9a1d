"""Chooses the server that a request's reads go to: a standby that is new enough, otherwise the primary.

A standby replays the primary's changes a moment later. So that users find what they have stored, a read on it counts
only if the user's version there is at least the one that this process has last seen and the one that the client asks
for; an older snapshot is given up for one of the primary. A request that has read from the primary stays there, so that
it never goes back in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import asyncpg
from cachetools import LRUCache
from sqlalchemy import exc

from app import errors
from app.store.connection import failures
from app.store.connection.pools import Entered, Entry, Pool

MAX_USERS = 100_000
Target = Literal["standby", "primary"]
Reason = Literal["preferred", "older", "unavailable", "unreachable_primary"]
"""Why a read went to its target: the request asked for it, the standby was older or could not be used, or the primary
could not be reached."""


class SeenVersions:
    """The newest version of each of the most recent users that a transaction of this process has read or written."""

    def __init__(self) -> None:
        self._versions: LRUCache[str, int] = LRUCache(MAX_USERS)

    def of(self, user_id: str) -> int:
        """The newest version; 0 if none is known."""
        return self._versions.get(user_id, 0)

    def note(self, user_id: str, version: int) -> None:
        """Record that a transaction has seen this version."""
        if version > self.of(user_id):
            self._versions[user_id] = version

    def correct(self, user_id: str, version: int, *, expected: int) -> None:
        """Replace a version that the primary no longer has: the user was deleted, or a backup restored."""
        if self.of(user_id) == expected:
            self._versions[user_id] = version


class ReadTargets:
    """The primary, the standby if there is one, and what the transactions of this process have seen and counted."""

    def __init__(self, primary: Pool) -> None:
        self.primary = primary
        self.standby: Pool | None = None
        self.seen = SeenVersions()
        self.counts: Counter[tuple[Target, Reason]] = Counter()


class ReadRoute:
    """Where the reads of one request go.

    `required` is the version that the client has seen. `version` is the newest one that the request itself has read or
    written, None before its first transaction of a user.
    """

    def __init__(self, targets: ReadTargets, *, prefers_standby: bool = False, required: int = 0) -> None:
        self._targets = targets
        self._prefers_standby = prefers_standby
        self._required = required
        self.version: int | None = None

    def note(self, user_id: str, version: int) -> None:
        """Record the version that a transaction has read or written."""
        self.version = max(version, self.version or 0)
        self._targets.seen.note(user_id, version)

    @asynccontextmanager
    async def transaction(self, entry: Entry, user_id: str, *, on_primary: bool = False) -> AsyncIterator[Entered]:
        """Open a read transaction. Raises DatabaseUnavailable, StandbyFailed; the next one is then on the primary."""
        target: Target | None = None
        self._prefers_standby = self._prefers_standby and not on_primary
        try:
            async with AsyncExitStack() as stack:
                entered, target = await self._opened(entry, user_id, stack)
                yield entered
        except errors.DatabaseUnavailable as error:
            if target != "standby":
                raise
            self._prefers_standby = False
            if not isinstance(error, errors.ConnectionLost):
                raise
            raise failures.StandbyFailed(error.message) from error

    async def _opened(self, entry: Entry, user_id: str, stack: AsyncExitStack) -> tuple[Entered, Target]:
        targets, seen = self._targets, self._targets.seen.of(user_id)
        reason: Reason = "preferred"
        if self._prefers_standby and targets.standby is not None:
            found = await self._on_standby(entry, user_id, max(seen, self._required), stack)
            if isinstance(found, Entered):
                return self._chosen("standby", "preferred", found)
            reason = found
        try:
            if reason == "older" and not targets.primary.is_reachable:
                raise errors.ConnectionLost("The primary could not be reached a moment ago.")
            entered = await stack.enter_async_context(targets.primary.transaction(entry))
        except (errors.ConnectionLost, failures.Unresponsive):
            if reason != "older":
                raise
            return await self._on_older_standby(entry, user_id, stack)
        self._check(entered, user_id, seen)
        self._prefers_standby = False
        return self._chosen("primary", reason, entered)

    async def _on_older_standby(self, entry: Entry, user_id: str, stack: AsyncExitStack) -> tuple[Entered, Target]:
        """Read a standby that is older than this process remembers, while the primary cannot be reached.

        Raises StandbyBehind if it is also older than the client asks for.
        """
        found = await self._on_standby(entry, user_id, self._required, stack)
        if isinstance(found, Entered):
            return self._chosen("standby", "unreachable_primary", found)
        raise failures.StandbyBehind(failures.BEHIND)

    def _chosen(self, target: Target, reason: Reason, entered: Entered) -> tuple[Entered, Target]:
        self._targets.counts[target, reason] += 1
        return entered, target

    def _check(self, entered: Entered, user_id: str, seen: int) -> None:
        """Note the version of the primary. Raises StandbyBehind if it is a standby that is older than required."""
        version = entered.version.data
        if version < self._required and self._targets.primary.is_read_only:
            raise failures.StandbyBehind(failures.BEHIND)
        if version < seen:
            self._targets.seen.correct(user_id, version, expected=seen)
        self.note(user_id, version)

    async def _on_standby(
        self, entry: Entry, user_id: str, least: int, stack: AsyncExitStack
    ) -> Entered | Literal["older", "unavailable"]:
        """A transaction on the standby, or why it cannot be used."""
        standby = self._targets.standby
        if standby is None or not standby.is_usable:
            return "unavailable"
        try:
            async with AsyncExitStack() as opening:
                entered = await opening.enter_async_context(standby.transaction(entry))
                version = entered.version.data
                if version < least:
                    return "older"
                stack.push_async_exit(opening.pop_all())
        except errors.ModelReplaced:
            return "older"
        except (errors.StepwellError, exc.DBAPIError, asyncpg.PostgresError):
            return "unavailable"
        self.note(user_id, version)
        return entered
