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
# Of an index the blocks of the table are read first; then the tuples are sorted and written.
_STATEMENT = sql.inline(
    """
    SELECT left(regexp_replace(a.query, '\\s+', ' ', 'g'), 60) AS statement, coalesce(p.phase, '') AS phase,
           CAST(extract(epoch FROM clock_timestamp() - a.query_start) AS float8) AS seconds,
           CASE WHEN p.blocks_done < p.blocks_total THEN ARRAY[p.blocks_done, p.blocks_total]
                WHEN p.tuples_total > 0 THEN ARRAY[p.tuples_done, p.tuples_total]
                ELSE CAST(regexp_match(a.application_name, '^(\\d+) of ([1-9]\\d*)$') AS bigint[]) END AS counts
    FROM pg_stat_activity AS a LEFT JOIN pg_stat_progress_create_index AS p ON p.pid = a.pid
    WHERE a.pid = :pid AND a.state = 'active'
    """,
    pid="integer",
)


@dataclass(frozen=True, slots=True)
class StatementProgress:
    """A statement that runs: its beginning, its phase, its seconds so far, and the share done, None if unknown.

    Of a revision that works in batches, share and seconds are those of all batches. `left_s` are the seconds for the
    rest of the phase, None before two reports.
    """

    statement: str
    phase: str
    seconds: float
    share: float | None = None
    left_s: float | None = None

    def __str__(self) -> str:
        share = "" if self.share is None else f"{self.share:.0%}"
        left = "" if self.left_s is None else f"about {self.left_s:.0f} s left"
        return (
            f"{self.statement} … {', '.join(filter(None, (self.phase, share, f'{self.seconds:.0f} s so far', left)))}"
        )


Report = Callable[[StatementProgress], None]


@asynccontextmanager
async def watching(dsn: str, connection: AsyncConnection, report: Report | None) -> AsyncIterator[None]:
    """Report how far the statements of a connection are, while the block runs, if a second connection is granted."""
    if report is None:
        yield
        return
    watch = asyncio.create_task(_watch(dsn, await connection.scalar(sa.text("SELECT pg_backend_pid()")), report))
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def _watch(dsn: str, pid: int, report: Report) -> None:
    engine = engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    phase, began, before = None, 0.0, 0.0
    try:
        while True:
            await asyncio.sleep(WATCH_S)
            async with engine.connect() as observing:
                row: Any = (await observing.execute(_STATEMENT, {"pid": pid})).one_or_none()
            if row is None:
                continue
            if row.counts is None:
                report(StatementProgress(row.statement, row.phase, row.seconds))
                continue
            now, (done, total) = time.monotonic(), row.counts
            share = done / total
            if phase != (row.phase, total):
                phase, began, before = (row.phase, total), now, share
            left_s = (1 - share) * (now - began) / (share - before) if share > before else None
            report(StatementProgress(row.statement, row.phase, max(row.seconds, now - began), share, left_s))
    finally:
        await engine.dispose()
