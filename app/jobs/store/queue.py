"""Reads how many jobs wait and run, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from app.database import sql
from app.database.transactions import Database

READ_S = 1.0
"""How long the statement may take, the wait for a connection included."""
_QUEUE = sql.inline(
    """
    SELECT j.kind,
           count(*) FILTER (WHERE NOT o.runs) AS waiting,
           count(*) FILTER (WHERE o.runs) AS running,
           count(*) FILTER (WHERE j.failures > 0) AS retrying,
           CAST(coalesce(max(extract(epoch FROM now() - j.run_at)) FILTER (WHERE NOT o.runs), 0) AS float8) AS age_s
    FROM stepwell.jobs AS j, LATERAL (SELECT j.status = 'running' AND j.leased_until >= now() AS runs) AS o
    WHERE j.status IN ('queued', 'running')
    GROUP BY j.kind
    """
)


@dataclass(frozen=True, slots=True)
class QueueLength:
    """The jobs of a kind that wait, run, and have failed before; `age_s` is for how long the first one is due."""

    kind: str
    waiting: int
    running: int
    retrying: int
    age_s: float


async def read(db: Database) -> list[QueueLength]:
    """The kinds of which jobs wait or run. Raises DatabaseUnavailable."""
    return sql.read_records(QueueLength, await db.pool.rows(_QUEUE, {}, within_s=READ_S))
