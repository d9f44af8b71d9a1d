"""Routes the reads of requests to the database itself; `standby` is the other way of doing so."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self

import sqlalchemy as sa

from app.database.driver import failures
from app.database.driver.connections import Rows
from app.database.pools import Entered, Entry, Pool
from app.kinds import StandbyStatus

Target = Literal["standby", "primary"]
Reason = Literal["preferred", "older", "unavailable", "unreachable_primary"]
"""Why a read went to its target: the request asked for it, the standby was older or could not be used, or the primary
could not be reached."""


@dataclass(frozen=True, slots=True)
class Lag:
    """By how much a standby is behind: seconds, and bytes of the write-ahead log."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class StandbyReport:
    """A standby as the last probe found it: whether reads go to it, why not, its lag and `hot_standby_feedback`."""

    state: StandbyStatus
    reason: str = ""
    lag: Lag | None = None
    feedback: bool = False


class ReadRoute:
    """Where the reads of one request go.

    `required` is the version that the client has seen. `version` is the newest one that the request itself has read or
    written, None before its first transaction of a user.
    """

    def __init__(self, routes: ReadRoutes, *, required: int = 0) -> None:
        self._routes = routes
        self._required = required
        self.version: int | None = None

    def on_primary(self) -> Self:
        """The same route. All of its further reads go to the primary."""
        return self

    def note(self, user_id: str, version: int) -> None:
        """Record the version that a transaction of the user has read or written."""
        self.version = max(version, self.version or 0)

    @asynccontextmanager
    async def transaction(self, entry: Entry, user_id: str) -> AsyncIterator[Entered]:
        """Open a read transaction. Raises DatabaseUnavailable."""
        async with self._routes.primary.transaction(entry) as entered:
            self._check(entered)
            self.note(user_id, entered.version.data)
            self._routes.counts["primary", "preferred"] += 1
            yield entered

    def _check(self, entered: Entered) -> None:
        """Raises StandbyBehind if the server only reads and is older than the client."""
        if entered.version.data < self._required and self._routes.primary.is_read_only:
            raise failures.StandbyBehind(failures.BEHIND)


class ReadRoutes:
    """Routes to the one database. `counts` are the read transactions so far by target and reason."""

    def __init__(self, primary: Pool) -> None:
        self.primary = primary
        self.counts: Counter[tuple[Target, Reason]] = Counter()

    @property
    def standby(self) -> StandbyReport | None:
        """The standby that serves reads; None without one."""
        return None

    def new(self, *, required: int = 0) -> ReadRoute:
        """The route of a request that must read at least the `required` version."""
        return ReadRoute(self, required=required)

    def background(self) -> ReadRoute:
        """The route of work that no request waits for: it reads the primary."""
        return ReadRoute(self)

    async def rows(self, statement: sa.TextClause, binds: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement on the tables that belong to no user. Raises DatabaseUnavailable."""
        return await self.primary.rows(statement, binds, within_s=within_s)

    async def probe(self) -> None:
        """Look at the servers beside the primary; there are none."""

    async def watch(self) -> None:
        """Probe the servers beside the primary until cancelled; there are none."""

    async def others(self) -> Sequence[ReadRoute]:
        """A route to each server beside the primary that can be read now."""
        return ()
