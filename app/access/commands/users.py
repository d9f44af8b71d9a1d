"""Implements `stepwell users`: lists, exports and deletes users as the database's owner."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.access import users
from app.access.store import users as stored
from app.cli import options, ownership, terminal

app = typer.Typer(help="Users: list, export, delete.", no_args_is_help=True)
UserName = Annotated[str, typer.Argument(help="The user's name.")]


@app.command("list")
def list_users(as_json: options.AsJson = False, data_dir: options.DataDir = None) -> None:
    """List all users with their numbers of live keys, documents, chunks and entities."""
    rows = [dataclasses.asdict(user) for user in ownership.run_once(data_dir, stored.list_users)]
    if as_json:
        terminal.write_json(rows)
        return
    table = options.table("user_id", "keys", "documents", "chunks", "entities", ids=("user_id",))
    for row in rows:
        table.add_row(*map(str, row.values()))
    options.print_table(table)


@app.command()
def export(
    user: UserName,
    file: Annotated[Path, typer.Argument(help="The ZIP file to write; it must not exist.")],
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write a user's documents, entities, sources, feedback, keys (no secrets) and events to a ZIP of JSON lines."""
    options.check_user(user)
    written = ownership.run(data_dir, lambda db: users.export(user, file.absolute(), db=db, actor=ownership.actor()))
    if as_json:
        terminal.write_json(written)
        return
    options.out.print(f"Wrote {file}: {_format_counts(written)}.", soft_wrap=True, markup=False)


@app.command()
def delete(
    user: UserName,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Delete a user's documents, entities and keys; the audit log records the deletion."""
    options.check_user(user)
    if not yes:
        held = ownership.run_once(data_dir, lambda owner: stored.count_rows(owner, user))
        if any(held.values()):
            terminal.confirm(f"Delete {_format_counts(held)} of {user}?")
    deleted, left = ownership.run(data_dir, lambda db: users.delete(user, db=db, actor=ownership.actor()))
    remaining = sum(left.values())
    if as_json:
        terminal.write_json({"deleted": deleted, "left": left})
    else:
        table = Table("table", "deleted", "left")
        for name, count in deleted.items():
            table.add_row(name, str(count), str(left[name]))
        options.out.print(table)
    if remaining:
        options.err.print(f"{remaining} rows were written meanwhile by requests that were running: delete again.")
        raise typer.Exit(1)


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
