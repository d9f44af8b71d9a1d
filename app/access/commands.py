"""Implements `stepwell keys`, `stepwell users` and `stepwell audit`, which connect as the owner of the database."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from app import errors
from app.access import keys
from app.access.store import audit as stored_audit
from app.access.store import keys as stored_keys
from app.access.store import user_data
from app.cli import database_as_owner, json_arguments, options, terminal
from app.database import filters as compiled
from app.database.transactions import SharedTransaction

MAX_DAYS = 36_500
"""A century: days far beyond it leave the calendar of Python or Postgres."""
keys_app = typer.Typer(help="API keys: create, list, rotate, revoke.", no_args_is_help=True)


@keys_app.command()
def create(
    user: Annotated[str, typer.Argument(help="The user whose documents the key grants access to.")],
    scope: Annotated[list[str] | None, typer.Option(help="search, write, metrics or admin; may be repeated.")] = None,
    name: Annotated[str, typer.Option(help="A note on the purpose of the key.")] = "",
    days: Annotated[
        int | None, typer.Option(min=1, max=MAX_DAYS, help="Days until it expires.", show_default="never")
    ] = None,
    filters: json_arguments.FiltersJson = None,
    entities: Annotated[
        bool, typer.Option("--entities", help="With --filters: show descriptions and facts of the visible entities.")
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Create a key for a user. The key is shown only once.

    With --filters it sees, and may change, only the documents that pass.
    """
    lifetime = timedelta(days=days) if days else None
    scopes = tuple(scope or ("search", "write"))
    only = None
    if filters is not None:
        from app.requests.filter_models import SearchFilters

        given = json_arguments.parse(filters, SearchFilters, field="filters")
        compiled.restriction(given.shape(), shows_entities=entities)
        only = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    grant = keys.Grant(scopes, name, lifetime, only, entities)
    key = database_as_owner.run(data_dir, lambda db: keys.create(user, grant, db=db, actor=database_as_owner.actor()))
    restricted = {} if grant.filters is None else {"filters": grant.filters, "entities": entities}
    terminal.end_with_json({"key": key, "user": user, "scopes": scopes, **restricted}, wanted=as_json)
    terminal.err.print(f"A key for {user} ({', '.join(scopes)}). It is not shown again:", markup=False)
    terminal.write(key)


@keys_app.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option("--user", help="Only this user's keys.")] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List the keys without their secrets."""
    found = database_as_owner.run_once(data_dir, lambda owner: stored_keys.list_keys(owner, user_id=user))
    fields = ("key_id", "user_id", "scopes", "name", "created_at", "expires_at", "revoked_at", "filters")
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(key, name) for name in fields},
            "entities": key.filters is None or key.shows_entities,
            "tokens": key.token_key is not None,
        }
        for key in found
    ]
    terminal.end_with_json(rows, wanted=as_json)
    table = terminal.table("key", "user", "scopes", "valid", "sees", ids=("key", "user"))
    for row in rows:
        shown = terminal.cell(row["name"], identity=row["key_id"])
        days = {"from": row["created_at"], "until": row["expires_at"], "revoked": row["revoked_at"]}
        valid = "\n".join(f"{what} {at:%Y-%m-%d %H:%M}" for what, at in days.items() if at)
        sees = ["metrics"] if set(row["scopes"]) == {"metrics"} else ["everything"]
        if row["filters"] is not None:
            sees = [json.dumps(row["filters"]), *(["entities"] if row["entities"] else [])]
        signs = "signs tokens" if row["tokens"] else "signs no tokens"
        table.add_row(shown, row["user_id"], ", ".join(row["scopes"]), valid, terminal.cell(*sees, signs))
    terminal.print_table(table)


@keys_app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    grace: Annotated[int, typer.Option(min=0, max=365, help="Days for which the old key still works.")] = 1,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Replace a key by a new one with the same user, scopes and name. The new key is shown only once."""
    days, actor = timedelta(days=grace), database_as_owner.actor()
    key = database_as_owner.run(data_dir, lambda db: keys.rotate(key_id, db=db, grace=days, actor=actor))
    terminal.end_with_json({"key": key, "grace_days": grace}, wanted=as_json)
    left = f"works for {grace} more day{'s' * (grace > 1)}" if grace else "works no longer"
    terminal.err.print(f"The old key {left}. The new one is not shown again:")
    terminal.write(key)


@keys_app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key at once."""
    database_as_owner.run(data_dir, lambda db: keys.revoke(key_id, db=db, actor=database_as_owner.actor()))
    terminal.end_with_json({"revoked": True}, wanted=as_json)
    terminal.err.print("Revoked.")


users_app = typer.Typer(help="Users: list, export, delete.", no_args_is_help=True)
UserName = Annotated[str, typer.Argument(help="The user's name.")]


@users_app.command("list")
def list_users(as_json: options.AsJson = False, data_dir: options.DataDir = None) -> None:
    """List all users with their numbers of live keys, documents, chunks and entities."""
    rows = [dataclasses.asdict(user) for user in database_as_owner.run_once(data_dir, user_data.list_users)]
    terminal.end_with_json(rows, wanted=as_json)
    table = terminal.table("user_id", "keys", "documents", "chunks", "entities", ids=("user_id",))
    for row in rows:
        table.add_row(*map(str, row.values()))
    terminal.print_table(table)


@users_app.command()
def export(
    user: UserName,
    file: Annotated[Path, typer.Argument(help="The ZIP file to write; it must not exist.")],
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write all that a user has stored, with keys (no secrets) and events, to a ZIP of JSON lines."""
    options.check_user(user)
    written = database_as_owner.run(
        data_dir, lambda db: user_data.export(user, file.absolute(), db=db, actor=database_as_owner.actor())
    )
    terminal.end_with_json(written, wanted=as_json)
    terminal.out.print(f"Wrote {file}: {_format_counts(written)}.", soft_wrap=True, markup=False)


@users_app.command()
def delete(
    user: UserName,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Delete a user's documents, entities and keys; the audit log records the deletion."""
    options.check_user(user)
    if not yes:
        held = database_as_owner.run_once(data_dir, lambda owner: user_data.count_rows(owner, user))
        if any(held.values()):
            known = {name: held.get(name, 0) for name in ("documents", "chunks", "entities", "sources")}
            terminal.confirm(f"Delete {_format_counts(known)} of {user}, with keys and all else?")
    deleted, left = database_as_owner.run(
        data_dir, lambda db: user_data.delete(user, db=db, actor=database_as_owner.actor())
    )
    if as_json:
        terminal.write_json({"deleted": deleted, "left": left})
    else:
        table = Table("table", "deleted", "left")
        for name, count in deleted.items():
            table.add_row(name, str(count), str(left[name]))
        terminal.out.print(table)
    if remaining := sum(left.values()):
        terminal.err.print(f"{remaining} rows were written meanwhile by requests that were running: delete again.")
        raise typer.Exit(1)


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"


def show_audit(
    user: Annotated[str | None, typer.Option("--user", help="Only events of this user.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, help="Maximum number of events, and of rows about keys.")
    ] = 100,
    prune: Annotated[
        int | None,
        typer.Option(
            "--prune",
            metavar="DAYS",
            min=1,
            max=MAX_DAYS,
            help="Delete older entries, and keys that ended before; show nothing.",
        ),
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show deletions, key management and the daily use of each key, newest first."""
    if prune is not None:
        if user is not None:
            raise errors.BadRequest("Entries of all users are deleted: leave out --user.", field="--prune")
        gone = database_as_owner.run_once(data_dir, lambda owner: stored_audit.prune(owner, days=prune))
        terminal.end_with_json(gone, wanted=as_json)
        named = (("audit_log", "event"), ("key_uses", "key use"), ("api_keys", "ended key"))
        terminal.write(f"Deleted {', '.join(terminal.format_count(gone[table], name) for table, name in named)}.")
        return

    async def read(owner: SharedTransaction) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        events = await stored_audit.events(owner, user_id=user, limit=limit)
        return events, await stored_audit.key_uses(owner, user_id=user, limit=limit)

    events, uses = database_as_owner.run_once(data_dir, read)
    terminal.end_with_json({"events": events, "key_uses": uses}, wanted=as_json)
    table = terminal.table("at", "user", "event", ids=("event",))
    for row in events:
        counts = ", ".join(_format_field(name, count) for name, count in row["counts"].items() if count)
        event = terminal.cell(row["action"], counts, f"by {row['actor']}", identity=row["target"])
        table.add_row(_moment(row["at"]), row["user_id"], event)
    terminal.print_table(table)
    table = terminal.table("day", "user", "key", "scope", "uses", "last used", ids=("key",))
    for row in uses:
        used_at = _moment(row["last_used_at"])
        table.add_row(str(row["day"]), row["user_id"], row["key_id"], row["scope"], str(row["uses"]), used_at)
    terminal.print_table(table)


def _moment(at: datetime) -> str:
    return terminal.moment(at.isoformat())


def _format_field(name: str, value: object) -> str:
    """A number of rows, or one of the fields that restrict a key."""
    return f"{name} {json.dumps(value)}" if isinstance(value, dict | bool) else f"{value} {name}"
