"""Watches a standby: whether it may serve reads, and by how much it is behind the primary.

A standby is admitted when it is a standby of the primary's cluster with the schema of this version, as the service's
role. One that fails a request is not used until it has answered a probe again, so that no request waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass

from app import errors
from app.shapes.kinds import StandbyStatus
from app.store.connection import sql
from app.store.connection.transactions import Database
from app.store.maintenance import health, migration

log = logging.getLogger(__name__)

PROBE_S = 2.0
"""Pause between two probes."""
PROBE_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Replication:
    """What a server is in a replication; positions in the write-ahead log are in bytes."""

    in_recovery: bool
    cluster: int
    position: int
    received: int | None
    idle_s: float | None
    feedback: bool


@dataclass(frozen=True, slots=True)
class Lag:
    """By how much a standby is behind: seconds, and bytes of the write-ahead log."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class StandbyExpectation:
    """What a standby must hold: the models whose vectors may be stored, and a role bound by row-level security."""

    model: str
    dimension: int
    target: tuple[str, int] | None = None
    strict_role: bool = False


async def replication(database: Database) -> Replication:
    """The role of a server in a replication. Raises DatabaseUnavailable."""
    async with database.shared(within_s=PROBE_LIMIT_S) as connection:
        row = (await connection.execute(sql.statement("replication"))).one()
    return Replication(**row._mapping)


class Standby:
    """A standby of a primary. `db` reads it; requests use it through the primary's `targets`."""

    def __init__(self, db: Database, primary: Database, expectation: StandbyExpectation) -> None:
        self.db = db
        self.reason = "It has not been checked yet."
        self.lag: Lag | None = None
        self._primary = primary
        self._expectation = expectation
        self._caught_up_at: float | None = None
        self._state: StandbyStatus = "unavailable"
        db.pool.is_admitted = False
        primary.targets.standby = db.pool

    @property
    def state(self) -> StandbyStatus:
        """Whether reads may go to the standby now."""
        return "unavailable" if self._state == "ready" and not self.db.pool.is_reachable else self._state

    async def watch(self) -> None:
        """Probe the standby until cancelled."""
        while True:
            await self.probe()
            await asyncio.sleep(PROBE_S)

    async def probe(self) -> None:
        """Measure the lag, and admit or exclude the standby."""
        try:
            primary = await self._of_primary()
            found = await replication(self.db)
            self._check(found, primary)
            if self.state != "ready":
                await self._check_schema()
        except errors.DatabaseUnavailable as error:
            self._changed("unavailable", error.message)
        except errors.StepwellError as error:
            self._changed("refused", error.message)
        except Exception as error:
            self._changed("refused", health.reason(error))
        else:
            self.lag = self._lag(found, primary)
            self._changed("ready", "")

    async def _of_primary(self) -> Replication | None:
        """The primary, None if it cannot be reached; this also notices that it can be reached again."""
        try:
            return await replication(self._primary)
        except errors.DatabaseUnavailable:
            return None

    async def _check_schema(self) -> None:
        """Raises SchemaMismatch, DatabaseUnavailable."""
        wanted = self._expectation
        await migration.check(self.db, model=wanted.model, dimension=wanted.dimension, target=wanted.target)
        await migration.check_role(self.db, strict=wanted.strict_role)

    def _check(self, found: Replication, primary: Replication | None) -> None:
        """Raises SchemaMismatch unless the server is a standby of the primary, or the primary cannot be asked."""
        if primary is None:
            return
        if found.cluster != primary.cluster:
            raise errors.SchemaMismatch("It is no copy of the primary: its cluster has another identifier.")
        if not found.in_recovery:
            raise errors.SchemaMismatch("It is not in recovery: it is the primary itself, or was promoted.")

    def _lag(self, found: Replication, primary: Replication | None) -> Lag:
        """The distance to the primary's log, or to what was received of it if the primary cannot be asked.

        The time since the last replayed commit is an upper bound, and so is the time since the distance was last zero.
        """
        end = primary.position if primary else found.received or found.position
        behind, now = max(0, end - found.position), time.monotonic()
        if not behind:
            self._caught_up_at = now
            return Lag(0.0, 0)
        bounds = [found.idle_s, None if self._caught_up_at is None else now - self._caught_up_at]
        return Lag(max(0.0, min((one for one in bounds if one is not None), default=0.0)), behind)

    def _changed(self, state: StandbyStatus, reason: str) -> None:
        """Admit or exclude the standby, and log it if that is new."""
        before = self._state, self.reason
        self._state, self.reason = state, reason
        self.db.pool.is_admitted = state == "ready"
        if state != "ready":
            self.lag = None
        if before != (state, reason):
            level = logging.INFO if state == "ready" else logging.WARNING
            log.log(level, "standby %s: %s", state, reason or "reads go to it", extra={"action": f"standby_{state}"})
