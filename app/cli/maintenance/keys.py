"""Implements `stepwell keys`: creates, lists, rotates and revokes API keys as the database's owner."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from app.cli import options
from app.cli.maintenance import owning
from app.cli.search import filter_option
from app.pipelines.maintenance import keys

app = typer.Typer(help="API keys: create, list, rotate, revoke.", no_args_is_help=True)


@app.command()
def create(
    user: Annotated[str, typer.Argument(help="The user whose documents the key grants access to.")],
    scope: Annotated[list[str] | None, typer.Option(help="search, write, metrics or admin; may be repeated.")] = None,
    name: Annotated[str, typer.Option(help="A note on the purpose of the key.")] = "",
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.", show_default="never")] = None,
    filters: filter_option.FiltersJson = None,
    entities: Annotated[
        bool, typer.Option("--entities", help="With --filters: show descriptions and facts of the visible entities.")
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Create a key for a user. The key is shown only once.

    With --filters it sees, and may change, only the documents that pass.
    """
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    scopes = tuple(scope or ("search", "write"))
    if filters is not None:
        keys.restriction(filter_option.read(filters), None, shows_entities=entities)
    grant = keys.Grant(scopes, name, expires, filter_option.as_json(filters), entities)
    key = owning.run(data_dir, lambda db: keys.create(user, grant, db=db, actor=owning.actor()))
    if as_json:
        restricted = {} if grant.filters is None else {"filters": grant.filters, "entities": entities}
        typer.echo(json.dumps({"key": key, "user": user, "scopes": scopes, **restricted}))
        return
    options.err.print(f"A key for {user} ({', '.join(scopes)}). It is not shown again:")
    typer.echo(key)


@app.command("list")
def listed(
    user: Annotated[str | None, typer.Option("--user", help="Only this user's keys.")] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List the keys without their secrets."""
    found = owning.run(data_dir, lambda db: keys.list_keys(db=db, user_id=user))
    fields = ("key_id", "user_id", "scopes", "name", "created_at", "expires_at", "revoked_at", "filters")
    rows = [
        {
            **{name: getattr(key, name) for name in fields},
            "entities": key.filters is None or key.shows_entities,
            "tokens": key.token_key is not None,
        }
        for key in found
    ]
    if as_json:
        typer.echo(json.dumps(rows, default=lambda moment: moment.isoformat()))
        return
    table = options.table(*fields, "entities", "tokens", ids=("key_id", "user_id"))
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    options.print_table(table)


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    grace: Annotated[int, typer.Option(min=0, max=365, help="Days for which the old key still works.")] = 1,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Replace a key by a new one with the same user, scopes and name. The new key is shown only once."""
    key = owning.run(data_dir, lambda db: keys.rotate(key_id, db=db, grace=timedelta(days=grace), actor=owning.actor()))
    if as_json:
        typer.echo(json.dumps({"key": key, "grace_days": grace}))
        return
    left = f"works for {grace} more days" if grace else "works no longer"
    options.err.print(f"The old key {left}. The new one is not shown again:")
    typer.echo(key)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key at once."""
    owning.run(data_dir, lambda db: keys.revoke(key_id, db=db, actor=owning.actor()))
    options.err.print("Revoked.")


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")
