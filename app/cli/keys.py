"""`stepwell keys`: create, list and revoke API keys, as the database's owner."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import typer
from rich.table import Table

from app import runtime
from app.cli import options
from app.config import Settings
from app.pipelines import keys as story
from app.store.db import Database

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)
Result = TypeVar("Result")


@app.command()
def create(
    user: Annotated[str, typer.Argument(help="Whose documents the key opens.")],
    scope: Annotated[list[str] | None, typer.Option(help="search, write, metrics or admin; may be repeated.")] = None,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.", show_default="never")] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Create a key for a user. It is shown this once."""
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    scopes = tuple(scope or ("search", "write"))
    key = _with_database(
        options.settings(data_dir),
        lambda db: story.create(user, db=db, scopes=scopes, name=name, expires_at=expires),
    )
    if as_json:
        typer.echo(json.dumps({"key": key, "user": user, "scopes": scopes}))
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
    found = _with_database(options.settings(data_dir), lambda db: story.listed(db=db, user_id=user))
    fields = ("key_id", "user_id", "scopes", "name", "created_at", "expires_at", "revoked_at")
    rows = [{name: getattr(key, name) for name in fields} for key in found]
    if as_json:
        typer.echo(json.dumps(rows, default=lambda moment: moment.isoformat()))
        return
    table = Table(*fields)
    for row in rows:
        table.add_row(*(_shown(row[name]) for name in fields))
    options.out.print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, or the whole key.")],
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key from now on."""
    _with_database(options.settings(data_dir), lambda db: story.revoke(key_id, db=db))
    options.err.print("Revoked.")


def _with_database(settings: Settings, work: Callable[[Database], Awaitable[Result]]) -> Result:
    async def opened() -> Result:
        async with runtime.open_owner(settings) as database:
            return await work(database)

    return options.run(opened())


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")
