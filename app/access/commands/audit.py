"""Implements `stepwell audit`: shows the audit log and the use of keys, as the database's owner."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import typer

from app.access.store import audit as log
from app.access.store.audit import KeyUse, Recorded
from app.cli import options, ownership, terminal
from app.database.transactions import SharedTransaction


def audit(
    user: Annotated[str | None, typer.Option("--user", help="Only events of this user.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, help="Maximum number of events, and of rows about keys.")
    ] = 100,
    prune: Annotated[
        int | None,
        typer.Option("--prune", metavar="DAYS", min=1, help="Delete entries older than this and show nothing."),
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show deletions, key management and the daily use of each key, newest first."""
    if prune is not None:
        gone = ownership.run_once(data_dir, lambda owner: log.prune(owner, days=prune))
        if as_json:
            terminal.write_json(gone)
        else:
            deleted = (
                options.format_count(gone["audit_log"], "event"),
                options.format_count(gone["key_uses"], "key use"),
            )
            terminal.write(f"Deleted {', '.join(deleted)}.")
        return
    events, uses = ownership.run_once(data_dir, lambda owner: _read(owner, user, limit))
    shown = [{"at": found.at, **dataclasses.asdict(found.event)} for found in events]
    used = [dataclasses.asdict(use) for use in uses]
    if as_json:
        terminal.write_json({"events": shown, "key_uses": used})
        return
    table = options.table("at", "user", "event", ids=("event",))
    for row in shown:
        event = options.cell(row["action"], _format_counts(row["counts"]), f"by {row['actor']}", identity=row["target"])
        table.add_row(_moment(row["at"]), row["user_id"], event)
    options.print_table(table)
    table = options.table("day", "user", "key", "scope", "uses", "last used", ids=("key",))
    for row in used:
        counts = (row["scope"], str(row["uses"]), _moment(row["last_used_at"]))
        table.add_row(str(row["day"]), row["user_id"], row["key_id"], *counts)
    options.print_table(table)


async def _read(owner: SharedTransaction, user: str | None, limit: int) -> tuple[list[Recorded], list[KeyUse]]:
    events = await log.events(owner, user_id=user, limit=limit)
    return events, await log.key_uses(owner, user_id=user, limit=limit)


def _moment(at: datetime) -> str:
    return options.moment(at.isoformat())


def _format_counts(counts: Mapping[str, object]) -> str:
    return ", ".join(_format_count(name, count) for name, count in counts.items() if count)


def _format_count(name: str, value: object) -> str:
    """A number of rows, or one of the fields that restrict a key."""
    return f"{name} {json.dumps(value)}" if isinstance(value, dict | bool) else f"{value} {name}"
