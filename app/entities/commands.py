"""Implements `stepwell entities`: imports, lists, finds and shows entities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from app import enums, errors, limits
from app.cli import client_options, options, terminal
from app.cli.client import PAGE, Answer, Client
from app.enums import EntityStatus
from app.text import uris

app = typer.Typer(help="Entities: import, list, search, show.", no_args_is_help=True)
MOST_SHOWN = 10


@app.command("import")
@client_options.connect
def bring(
    client: Client,
    file: Annotated[Path, typer.Argument(help="JSON lines, one entity per line; - reads standard input.")],
    as_json: options.AsJson = False,
) -> None:
    """Add or replace entities by id, or by type and name, and link stored documents to them."""
    try:
        content = typer.get_binary_stream("stdin").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise errors.BadRequest(f"The file cannot be read: {error.strerror}.", field="file") from error
    lines, found = content.rstrip(b"\n").split(b"\n"), list[Answer]()
    for start in range(0, len(lines), limits.MAX_ENTITIES):
        part = b"\n".join(lines[start : start + limits.MAX_ENTITIES])
        answer = client.send("POST", "/entities/bulk", content=part, headers={"Content-Type": "application/x-ndjson"})
        found += [{**line, "line": line["line"] + start} for line in answer["lines"]]
    client.backend.finish_jobs()
    counts = {status: sum(line["status"] == status for line in found) for status in enums.values(EntityStatus)}
    if as_json:
        terminal.write_json({"lines": found, **counts})
    else:
        terminal.out.print(f"{', '.join(f'{count} {status}' for status, count in counts.items())}.")
        for line in found:
            if line["status"] == "refused":
                detail = escape(f"{line['field']}: {line['detail']}")
                terminal.err.print(f"[red]line {line['line']}[/] {detail}")
    if counts["refused"]:
        raise typer.Exit(1)


@app.command("list")
@client_options.connect
def list_all(
    client: Client,
    q: Annotated[str | None, typer.Option("--q", help="Only names similar to this.")] = None,
    type: Annotated[str | None, typer.Option("--type", help="Only this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entities.")] = 50,
    as_json: options.AsJson = False,
) -> None:
    """List entities by name, or by similarity to --q."""
    found = _find(client, q, type, limit)
    terminal.end_with_json(found, wanted=as_json)
    table = terminal.table("entity", "type", "role", "origin", ids=("entity",))
    for one in found:
        shown = terminal.cell(one["name"], ", ".join(one["aliases"]), identity=one["entity_id"])
        table.add_row(shown, one["type"], one["role"] or "", one["origin"])
    terminal.print_table(table, empty=_none(type))


@app.command()
@client_options.connect
def search(
    client: Client,
    query: Annotated[str, typer.Argument(help="A name in any spelling, a role, or what is known about the entity.")],
    type: Annotated[str | None, typer.Option("--type", help="Only this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of entities.")] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Find entities by names and meaning, with their scores and what matched."""
    answer = client.post("/entities/search", {"query": query, "limit": limit, "type": type})
    terminal.end_with_json(answer, wanted=as_json)
    table = terminal.table("score", "entity", "type", "matched by", ids=("entity",))
    for one in answer["entities"]:
        shown = terminal.cell(one["name"], one["role"], identity=one["entity_id"])
        table.add_row(f"{one['score']:.2f}", shown, one["type"], one["matched_by"])
    terminal.print_table(table, empty=_none(type))


def _none(type: str | None) -> str:
    """Says that no entity, or none of a type, was found."""
    return f"No entity has the type {type}: `stepwell entities list` shows the types." if type else "None found."


@app.command()
@client_options.connect
def show(
    client: Client,
    name_or_id: Annotated[str, typer.Argument(help="A name in any spelling, or an id.")],
    as_json: options.AsJson = False,
) -> None:
    """Show an entity with the documents that are linked to it most strongly."""
    entity = _resolve(name_or_id, client)
    documents = client.list(f"/entities/{entity['entity_id']}/documents", "documents", limit=MOST_SHOWN)
    terminal.end_with_json({**entity, "documents": documents}, wanted=as_json)
    terminal.out.print(
        f"[bold]{escape(entity['name'])}[/] ({entity['type']}, {entity['origin']}) {entity['entity_id']}",
        soft_wrap=True,
    )
    rows: list[tuple[str, Any]] = [
        ("also", ", ".join(entity["aliases"])),
        ("role", entity["role"]),
        ("is", entity["description"]),
        *(("fact", fact) for fact in entity["facts"]),
        ("members", len(entity["members"])),
    ]
    for label, value in rows:
        if value:
            terminal.out.print(f"{label}: {escape(str(value))}")
    if not documents:
        terminal.out.print("No document is linked to it.")
        return
    table = Table("strength", "document", "mentions")
    for document in documents:
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(document["mentions"].items()))
        named = document["title"] or uris.show(document["uri"] or "")
        table.add_row(f"{document['strength']:.2f}", escape(named), counts)
    terminal.out.print(table)


def _find(client: Client, q: str | None, type: str | None, limit: int) -> list[Answer]:
    """Lists entities by name; with `q`, one page of entities with similar names."""
    if q is None:
        return client.list("/entities", "entities", limit=limit, type=type)
    found: list[Answer] = client.get("/entities", q=q, type=type, limit=min(limit, PAGE))["entities"]
    return found


def _resolve(name_or_id: str, client: Client) -> Answer:
    """Finds the entity with this id, or else with the most similar name. Raises NotFound, Conflict."""
    try:
        return client.get(f"/entities/{UUID(name_or_id)}")
    except ValueError:
        found = _find(client, name_or_id, None, MOST_SHOWN)
    if not found:
        raise errors.NotFound("No entity has this name or a similar one.")
    first = found[0]
    namesakes = [one for one in found if (one["type"], one["name"]) == (first["type"], first["name"])]
    if len(namesakes) > 1:
        known = ", ".join(f"{one['entity_id']} ({one['role'] or one['type']})" for one in namesakes)
        raise errors.Conflict(f"Several entities have this name, show one by its id: {known}.")
    return first
