"""Routes the reads of requests to a standby that is new enough, otherwise to the primary, and watches the standby.

A standby replays the primary's changes a moment later. Users must find what they have stored. A read on the standby
therefore counts only if the user's version there is at least the version that this process has last seen and the one
that the client asks for. Otherwise the primary is read. A request that has read from the primary stays there, so that
it never goes back in time.

A standby is admitted if it belongs to the primary's cluster, has the schema of this version, and the role is the
service's. A standby that fails a request is not used until it answers a probe, so that no request waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Literal, Self

import asyncpg
import sqlalchemy as sa
from cachetools import LRUCache
from sqlalchemy import exc

from app import errors
from app.database import driver_errors, sql
from app.database.driver_errors import Rerouted, StandbyBehind
from app.database.pooled_connection import Rows
from app.database.pools import Entered, Entry, Lag, ReadRoute, ReadRoutes, Reason, StandbyReport, Target
from app.database.transactions import Database

log = logging.getLogger(__name__)

MAX_USERS = 100_000
PROBE_S = 2.0
"""Pause between two probes."""
PROBE_LIMIT_S = 5.0


class StandbyRoute(ReadRoute):
    """A route that prefers the standby until a read went to the primary."""

    def __init__(self, routes: Standby, *, required: int = 0) -> None:
        super().__init__(routes, required=required)
        self._pair = routes
        self._prefers_standby = True

    def on_primary(self) -> Self:
        """The same route. All of its further reads go to the primary."""
        self._prefers_standby = False
        return self

    def note(self, user_id: str, version: int) -> None:
        """Record the version that a transaction has read or written, also for later requests of the user."""
        super().note(user_id, version)
        self._pair.seen[user_id] = max(version, self._pair.seen.get(user_id, 0))

    @asynccontextmanager
    async def transaction(self, entry: Entry, user_id: str) -> AsyncIterator[Entered]:
        """Open a read transaction. Raises DatabaseUnavailable, and Rerouted: the next one is then on the primary."""
        target: Target | None = None
        try:
            async with AsyncExitStack() as stack:
                entered, target = await self._open(entry, user_id, stack)
                yield entered
        except errors.DatabaseUnavailable as error:
            if target != "standby":
                raise
            self._prefers_standby = False
            if not isinstance(error, errors.ConnectionLost):
                raise
            raise Rerouted(error.message) from error

    async def _open(self, entry: Entry, user_id: str, stack: AsyncExitStack) -> tuple[Entered, Target]:
        seen = self._pair.seen.get(user_id, 0)
        reason: Reason = "preferred"
        if self._prefers_standby:
            found = await self._on_standby(entry, user_id, max(seen, self._required), stack)
            if isinstance(found, Entered):
                return self._chosen("standby", "preferred", found)
            reason = found
        try:
            if reason == "older" and not self._pair.primary.is_reachable:
                raise errors.ConnectionLost("The primary could not be reached a moment ago.")
            entered = await stack.enter_async_context(self._pair.primary.transaction(entry))
        except errors.Unreachable as error:
            if reason != "older":
                raise
            # A standby that is older than this process remembers is read, unless the client asks for a newer state.
            found = await self._on_standby(entry, user_id, self._required, stack)
            if isinstance(found, Entered):
                return self._chosen("standby", "unreachable_primary", found)
            raise StandbyBehind(driver_errors.BEHIND) from error
        self._check(entered)
        version = entered.version.data
        if version < seen and self._pair.seen.get(user_id) == seen:
            # The primary has it no longer: the user was deleted, or a backup restored.
            self._pair.seen[user_id] = version
        self.note(user_id, version)
        self._prefers_standby = False
        return self._chosen("primary", reason, entered)

    def _chosen(self, target: Target, reason: Reason, entered: Entered) -> tuple[Entered, Target]:
        self._pair.counts[target, reason] += 1
        return entered, target

    async def _on_standby(
        self, entry: Entry, user_id: str, least: int, stack: AsyncExitStack
    ) -> Entered | Literal["older", "unavailable"]:
        """A transaction on the standby, or why it cannot be used."""
        if not self._pair.is_ready:
            return "unavailable"
        try:
            async with AsyncExitStack() as opening:
                entered = await opening.enter_async_context(self._pair.db.pool.transaction(entry))
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


async def _replication(database: Database) -> Any:
    """The role of a server in a replication, as the columns of `replication.sql`. Raises DatabaseUnavailable."""
    async with database.shared(within_s=PROBE_LIMIT_S) as connection:
        return (await connection.execute(sql.statement("replication"))).one()


class Standby(ReadRoutes):
    """Routes to a primary and its standby `db`; it becomes `Database.reads` of the primary.

    `seen` has, for the most recent users, the newest version that a transaction of this process has read or written.
    `check` raises StepwellError unless a database has this version's schema and its role is restricted.
    """

    def __init__(self, db: Database, primary: Database, check: Callable[[Database], Awaitable[None]]) -> None:
        super().__init__(primary.pool)
        self.db = db
        db.pool.durations = primary.pool.durations  # both are shown as one
        self.seen: LRUCache[str, int] = LRUCache(MAX_USERS)
        self._primary = primary
        self._check_database = check
        self._caught_up_at: float | None = None
        self._report = StandbyReport("unavailable", "It has not been checked yet.")
        primary.reads = self

    @property
    def standby(self) -> StandbyReport:
        """The present state of the standby."""
        if self._report.state == "ready" and not self.db.pool.is_reachable:
            return StandbyReport("unavailable", lag=self._report.lag)
        return self._report

    @property
    def is_ready(self) -> bool:
        """Whether reads may go to the standby now."""
        return self.standby.state == "ready"

    def new(self, *, required: int = 0) -> ReadRoute:
        """The route of a request that must read at least the `required` version."""
        return StandbyRoute(self, required=required)

    async def rows(self, statement: sa.TextClause, binds: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement on the primary; while the primary cannot be reached, on the standby.

        Raises DatabaseUnavailable.
        """
        pools = [self.primary]
        if self.is_ready:
            pools = [self.primary, self.db.pool] if self.primary.is_reachable else [self.db.pool, self.primary]
        for pool in pools[:-1]:
            with suppress(errors.Unreachable):
                return await pool.rows(statement, binds, within_s=within_s)
        return await pools[-1].rows(statement, binds, within_s=within_s)

    async def others(self) -> Sequence[ReadRoute]:
        """A route to the standby, once it has been probed."""
        await self.probe()
        return (self.new(),)

    async def watch(self) -> None:
        """Probe the standby until cancelled."""
        while True:
            await self.probe()
            await asyncio.sleep(PROBE_S)

    async def probe(self) -> None:
        """Measure the lag, and admit or exclude the standby."""
        try:
            primary = None
            with suppress(errors.DatabaseUnavailable):  # this also notices when it can be reached again
                primary = await _replication(self._primary)
            found = await _replication(self.db)
            if primary is not None and found.cluster != primary.cluster:
                raise errors.SchemaMismatch("It is no copy of the primary: its cluster has another identifier.")
            if primary is not None and not found.in_recovery:
                raise errors.SchemaMismatch("It is not in recovery: it is the primary itself, or was promoted.")
            if not self.is_ready:
                await self._check_database(self.db)
        except errors.DatabaseUnavailable as error:
            self._note_report(
                StandbyReport("unavailable", driver_errors.of_variable(error.message, "DATABASE_READ_URL"))
            )
        except driver_errors.AddressRefused as error:
            self._note_report(StandbyReport("refused", driver_errors.of_variable(error.message, "DATABASE_READ_URL")))
        except Exception as error:
            self._note_report(StandbyReport("refused", driver_errors.reason(error)))
            await self.db.pool.close_idle()  # the address may lead to another server by the next probe
        else:
            self._note_report(StandbyReport("ready", lag=self._lag(found, primary), feedback=found.feedback))

    def _lag(self, found: Any, primary: Any) -> Lag:
        """The distance to the end of the primary's log; if the primary does not answer, to the received part of it.

        The time since the last replayed commit and the time since the distance was last zero are upper bounds.
        """
        end = primary.position if primary else found.received or found.position
        behind, now = max(0, end - found.position), time.monotonic()
        if not behind:
            self._caught_up_at = now
            return Lag(0.0, 0)
        bounds = [found.idle_s, None if self._caught_up_at is None else now - self._caught_up_at]
        return Lag(max(0.0, min((one for one in bounds if one is not None), default=0.0)), behind)

    def _note_report(self, report: StandbyReport) -> None:
        """Note the result of a probe, and log it if the state or the reason is new."""
        before, self._report = self._report, report
        if (before.state, before.reason) != (report.state, report.reason):
            level = logging.INFO if report.state == "ready" else logging.WARNING
            said = report.reason or "reads go to it"
            log.log(level, "standby %s: %s", report.state, said, extra={"action": f"standby_{report.state}"})
