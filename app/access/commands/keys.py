"""Implements `stepwell keys`: creates, lists, rotates and revokes API keys as the database's owner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text

from app.access import keys
from app.access.store import keys as stored
from app.cli import json_option, options, ownership, terminal
from app.database.filters import filters as compiled

app = typer.Typer(help="API keys: create, list, rotate, revoke.", no_args_is_help=True)


@app.command()
def create(
    user: Annotated[str, typer.Argument(help="The user whose documents the key grants access to.")],
    scope: Annotated[list[str] | None, typer.Option(help="search, write, metrics or admin; may be repeated.")] = None,
    name: Annotated[str, typer.Option(help="A note on the purpose of the key.")] = "",
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.", show_default="never")] = None,
    filters: json_option.FiltersJson = None,
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
    only = None
    if filters is not None:
        given = json_option.search_filters(filters)
        compiled.restriction(given.shape(), shows_entities=entities)
        only = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    grant = keys.Grant(scopes, name, expires, only, entities)
    key = ownership.run(data_dir, lambda db: keys.create(user, grant, db=db, actor=ownership.actor()))
    if as_json:
        restricted = {} if grant.filters is None else {"filters": grant.filters, "entities": entities}
        terminal.write_json({"key": key, "user": user, "scopes": scopes, **restricted})
        return
    options.err.print(f"A key for {user} ({', '.join(scopes)}). It is not shown again:")
    terminal.write(key)


@app.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option("--user", help="Only this user's keys.")] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List the keys without their secrets."""
    found = ownership.run_once(data_dir, lambda owner: stored.list_keys(owner, user_id=user))
    fields = ("key_id", "user_id", "scopes", "name", "created_at", "expires_at", "revoked_at", "filters")
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(key, name) for name in fields},
            "entities": key.filters is None or key.shows_entities,
            "tokens": key.token_key is not None,
        }
        for key in found
    ]
    if as_json:
        terminal.write_json(rows)
        return
    table = options.table("key", "user", "scopes", "valid", "sees", ids=("key", "user"))
    for row in rows:
        shown = options.cell(row["name"], identity=row["key_id"])
        table.add_row(shown, row["user_id"], ", ".join(row["scopes"]), _valid(row), _sees(row))
    options.print_table(table)


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    grace: Annotated[int, typer.Option(min=0, max=365, help="Days for which the old key still works.")] = 1,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Replace a key by a new one with the same user, scopes and name. The new key is shown only once."""
    days, actor = timedelta(days=grace), ownership.actor()
    key = ownership.run(data_dir, lambda db: keys.rotate(key_id, db=db, grace=days, actor=actor))
    if as_json:
        terminal.write_json({"key": key, "grace_days": grace})
        return
    left = f"works for {grace} more days" if grace else "works no longer"
    options.err.print(f"The old key {left}. The new one is not shown again:")
    terminal.write(key)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key at once."""
    ownership.run(data_dir, lambda db: keys.revoke(key_id, db=db, actor=ownership.actor()))
    if as_json:
        terminal.write_json({"revoked": True})
    else:
        options.err.print("Revoked.")


def _valid(row: Mapping[str, Any]) -> str:
    """The days on which a key was created, expires and was revoked."""
    days = {"from": row["created_at"], "until": row["expires_at"], "revoked": row["revoked_at"]}
    return "\n".join(f"{what} {at:%Y-%m-%d %H:%M}" for what, at in days.items() if at)


def _sees(row: Mapping[str, Any]) -> Text:
    """Whether a key sees everything, and whether it signs tokens."""
    filters = row["filters"]
    lines = ["everything"] if filters is None else [json.dumps(filters), *(["entities"] if row["entities"] else [])]
    return options.cell(*lines, "signs tokens" if row["tokens"] else "signs no tokens")
