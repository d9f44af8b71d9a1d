"""Checks whether a database accepts writes, and a standby for reads; each finding names its fix."""

from __future__ import annotations

from app import errors
from app.pipelines.maintenance.doctor import Finding
from app.store.connection.transactions import Database
from app.store.maintenance import health, standby
from app.store.maintenance.standby import Standby

__all__ = ["Standby", "standing", "writable"]

LAG_S = 30.0
"""Seconds behind the primary from which a standby is reported."""


async def writable(db: Database) -> list[Finding]:
    """A finding on a database that accepts no writes; none otherwise, or if it cannot be reached."""
    try:
        read_only = await db.is_read_only()
    except Exception:
        return []
    if not read_only:
        return []
    message = "The database is read-only (a standby, or default_transaction_read_only): searches work, writes get 503."
    fix = (
        "Nothing, if that is intended; otherwise set DATABASE_URL to the primary, and this server to DATABASE_READ_URL."
    )
    return [Finding("writes", "warning", message, fix)]


async def standing(checked: Standby) -> list[Finding]:
    """The findings on the standby in DATABASE_READ_URL."""
    await checked.probe()
    if checked.state != "ready":
        message = f"The server in DATABASE_READ_URL is not used, the primary serves all reads: {checked.reason}"
        fix = "Start it, or correct DATABASE_READ_URL: a streaming standby of DATABASE_URL, as the same role."
        return [Finding("standby", "warning" if checked.state == "unavailable" else "error", message, fix)]
    return [_lag(checked), await _feedback(checked.db)]


def _lag(checked: Standby) -> Finding:
    lag = checked.lag or standby.Lag(0.0, 0)
    message = f"the standby is {lag.seconds:.1f} s and {lag.bytes} bytes behind the primary"
    if lag.seconds < LAG_S:
        return Finding("standby", "ok", message)
    fix = "See pg_stat_replication on the primary and pg_get_wal_replay_pause_state() on the standby."
    return Finding("standby", "warning", f"{message}: users with newer changes are served by the primary", fix)


async def _feedback(db: Database) -> Finding:
    try:
        found = await standby.replication(db)
    except errors.StepwellError as error:
        return Finding("standby_feedback", "warning", health.reason(error), "Run `stepwell doctor` again.")
    if found.feedback:
        return Finding("standby_feedback", "ok", "the primary keeps the rows that reads on the standby need")
    message = (
        "hot_standby_feedback is off: vacuum on the primary cancels long reads on the standby, which are repeated."
    )
    return Finding("standby_feedback", "warning", message, "On the standby: hot_standby_feedback = on, then reload it.")
