"""Implements `stepwell entities`: imports, lists, finds and shows entities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from app import errors, runtime
from app.api.entities import entity_lines
from app.api.entities.entity_models import EntityDocument, StoredEntity, UpsertResult
from app.api.search.search_responses import EntitySearchResponse
from app.cli import options
from app.cli.maintenance import owning
from app.config import Settings
from app.pipelines.entities import entities as pipeline
from app.pipelines.entities import entity_lines as lines
from app.pipelines.entities import entity_search
from app.pipelines.entities.entity_search import EntityAnswer, EntityQuery
from app.pipelines.linking import mention_refresh
from app.shapes import Entity, EntityFilter, LinkedDocument, limits, uris
from app.store.connection.transactions import Database

app = typer.Typer(help="Entities: import, list, search, show.", no_args_is_help=True)
MOST_SHOWN = 10


@app.command("import")
def bring(
    file: Annotated[Path, typer.Argument(help="JSON lines, one entity per line; - reads standard input.")],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Add or replace entities by id, or by type and name, and link stored documents to them."""
    read = entity_lines.read(_bytes(file))
    answer = options.run(_bring(read, options.checked_user(user), options.settings(data_dir)))
    if as_json:
        typer.echo(answer.model_dump_json())
    else:
        options.out.print(
            f"{answer.added} added, {answer.updated} updated, {answer.unchanged} unchanged, {answer.refused} refused."
        )
        for line in answer.lines:
            if line.status == "refused":
                options.err.print(f"[red]line {line.line}[/] {escape(f'{line.field}: {line.detail}')}")
    if answer.refused:
        raise typer.Exit(1)


@app.command("list")
def listed(
    q: Annotated[str | None, typer.Option("--q", help="Only names similar to this.")] = None,
    type: Annotated[str | None, typer.Option("--type", help="Only this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of entities.")] = 50,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List entities by name, or by similarity to --q."""
    user_id = options.checked_user(user)

    async def found(db: Database) -> list[Entity]:
        if q is not None:
            return await pipeline.find(q, user_id, db=db, limit=limit, only=EntityFilter(type))
        return await pipeline.page(user_id, db=db, limit=limit, only=EntityFilter(type))

    shown = owning.run_as_service(data_dir, found)
    if as_json:
        typer.echo(json.dumps([StoredEntity.of(entity).model_dump(mode="json") for entity in shown]))
        return
    table = options.table("name", "type", "role", "aliases", "origin", "id", ids=("id",))
    for e in shown:
        aliases = escape(", ".join(e.aliases))
        table.add_row(escape(e.name), e.type, escape(e.role or ""), aliases, e.origin, str(e.entity_id))
    options.print_table(table)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A name in any spelling, a role, or what is known about the entity.")],
    type: Annotated[str | None, typer.Option("--type", help="Only this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of entities.")] = 10,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Find entities by names and meaning, with their scores and what matched."""
    wanted = EntityQuery(options.checked_user(user), options.checked_query(query), limit, type)
    answer = options.run(_search(wanted, options.settings(data_dir)))
    if as_json:
        typer.echo(EntitySearchResponse.of(answer).model_dump_json())
        return
    table = options.table("score", "name", "type", "matched by", "role", "id", ids=("id",))
    for e in answer.entities:
        table.add_row(f"{e.score:.2f}", escape(e.name), e.type, e.matched_by, escape(e.role or ""), str(e.entity_id))
    options.print_table(table)


@app.command()
def show(
    name_or_id: Annotated[str, typer.Argument(help="A name in any spelling, or an id.")],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show an entity with the documents that are linked to it most strongly."""
    user_id = options.checked_user(user)

    async def found(db: Database) -> tuple[Entity, list[LinkedDocument]]:
        entity = await _resolved(name_or_id, user_id, db)
        documents = await pipeline.documents(entity.entity_id, user_id, db=db, limit=MOST_SHOWN, after=None)
        return entity, documents

    entity, documents = owning.run_as_service(data_dir, found)
    if as_json:
        linked = [EntityDocument.of(document).model_dump(mode="json") for document in documents]
        typer.echo(json.dumps({**StoredEntity.of(entity).model_dump(mode="json"), "documents": linked}))
        return
    _show(entity, documents)


def _show(entity: Entity, documents: Sequence[LinkedDocument]) -> None:
    options.out.print(f"[bold]{escape(entity.name)}[/] ({entity.type}, {entity.origin}) {entity.entity_id}")
    rows: list[tuple[str, Any]] = [
        ("also", ", ".join(entity.aliases)),
        ("role", entity.role),
        ("is", entity.description),
        *(("fact", fact) for fact in entity.facts),
        ("contains", len(entity.members) or None),
    ]
    for label, value in rows:
        if value:
            options.out.print(f"{label}: {escape(str(value))}")
    table = Table("strength", "document", "mentions")
    for document in documents:
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(document.mentions.items()))
        table.add_row(f"{document.strength:.2f}", escape(document.title or uris.shown(document.uri or "")), counts)
    options.out.print(table)


async def _search(wanted: EntityQuery, settings: Settings) -> EntityAnswer:
    async with runtime.open_services(settings, pool_size=2) as services:
        return await entity_search.run(wanted, services)


async def _bring(read: entity_lines.Lines, user_id: str, settings: Settings) -> UpsertResult:
    async with runtime.open_services(settings) as services:
        outcomes = await lines.run(read.sound, user_id, db=services.db, embedder=services.embedder)
        await mention_refresh.settle(user_id, services)
        return read.answer(outcomes)


async def _resolved(name_or_id: str, user_id: str, db: Database) -> Entity:
    try:
        return await pipeline.get(UUID(name_or_id), user_id, db=db)
    except ValueError:
        found = await pipeline.find(name_or_id, user_id, db=db, limit=MOST_SHOWN)
    if not found:
        raise errors.NotFound("No entity has this name or a similar one.")
    namesakes = [entity for entity in found if (entity.type, entity.name) == (found[0].type, found[0].name)]
    if len(namesakes) > 1:
        known = ", ".join(f"{entity.entity_id} ({entity.role or entity.type})" for entity in namesakes)
        raise errors.Conflict(f"Several entities have this name, show one by its id: {known}.")
    return found[0]


def _bytes(file: Path) -> bytes:
    if str(file) == "-":
        return typer.get_binary_stream("stdin").read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise errors.BadRequest(f"The file cannot be read: {error.strerror}.", field="file") from error
