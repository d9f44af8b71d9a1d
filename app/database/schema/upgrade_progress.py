"""Watches the session of an upgrade from another one, and reports how far its statement is.

Postgres tells how far it has built an index. A revision that changes rows in batches says so itself, in the name of its
session: `SELECT set_config('application_name', '2000 of 90000', true)`, also within a DO block.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from app.database import engines, sql

WATCH_S = 5.0
"""Seconds between two reports, and before the first."""


@dataclass(frozen=True, slots=True)
class StatementProgress:
    """A statement that runs: its beginning, its phase, its seconds so far, and the share done, None if unknown.

    Of a revision that works in batches, share and seconds are those of all batches.
    `left_s` are the seconds that the rest of the phase will take at the speed that it had; None before two reports.
    """

    statement: str
    phase: str
    seconds: float
    share: float | None
    left_s: float | None

    def __str__(self) -> str:
        parts = [self.phase, "" if self.share is None else f"{self.share:.0%}", f"{self.seconds:.0f} s so far"]
        if self.left_s is not None:
            parts.append(f"about {self.left_s:.0f} s left")
        return f"{self.statement} … {', '.join(filter(None, parts))}"


Report = Callable[[StatementProgress], None]
# The blocks of a table are read first; then the tuples are sorted and written.
_STATEMENT = sql.inline(
    """
    SELECT left(regexp_replace(a.query, '\\s+', ' ', 'g'), 60) AS statement, coalesce(p.phase, '') AS phase,
           CAST(extract(epoch FROM clock_timestamp() - a.query_start) AS float8) AS seconds,
           CAST(CASE WHEN p.blocks_done < p.blocks_total THEN p.blocks_done
                     WHEN p.tuples_total > 0 THEN p.tuples_done
                     ELSE CAST(substring(a.application_name FROM '^(\\d+) of \\d+$') AS bigint) END AS float8) AS done,
           CAST(CASE WHEN p.blocks_done < p.blocks_total THEN p.blocks_total
                     WHEN p.tuples_total > 0 THEN p.tuples_total
                     ELSE CAST(substring(a.application_name FROM '^\\d+ of (\\d+)$') AS bigint) END AS float8) AS total
    FROM pg_stat_activity AS a LEFT JOIN pg_stat_progress_create_index AS p ON p.pid = a.pid
    WHERE a.pid = :pid AND a.state = 'active'
    """,
    pid="integer",
)


@asynccontextmanager
async def watching(dsn: str, connection: AsyncConnection, report: Report | None) -> AsyncIterator[None]:
    """Report how far the statements of a connection are, while the block runs.

    Nothing is reported where the server grants no second connection.
    """
    if report is None:
        yield
        return
    pid = await connection.scalar(sa.text("SELECT pg_backend_pid()"))
    watch = asyncio.create_task(_watch(dsn, pid, report))
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def _watch(dsn: str, pid: int, report: Report) -> None:
    engine = engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    estimate = _Estimate()
    try:
        while True:
            await asyncio.sleep(WATCH_S)
            async with engine.connect() as observing:
                row = (await observing.execute(_STATEMENT, {"pid": pid})).one_or_none()
            if row is not None:
                report(estimate.progress(row))
    finally:
        await engine.dispose()


@dataclass(slots=True)
class _Estimate:
    """The phase that is measured, and when it was first seen with which share done."""

    phase: tuple[str, float | None] = ("", None)
    began: float = 0.0
    before: float = 0.0

    def progress(self, row: Any) -> StatementProgress:
        """What a row says, with the time that is left if the phase was seen before."""
        now, share = time.monotonic(), row.done / row.total if row.total else None
        if share is None or self.phase != (row.phase, row.total):
            self.phase, self.began, self.before = (row.phase, row.total), now, share or 0.0
            return StatementProgress(row.statement, row.phase, row.seconds, share, None)
        speed = (share - self.before) / (now - self.began)
        left_s = (1 - share) / speed if speed > 0 else None
        return StatementProgress(row.statement, row.phase, max(row.seconds, now - self.began), share, left_s)
