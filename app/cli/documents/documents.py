"""Implements `stepwell documents`: lists, shows and deletes stored documents."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app import errors, runtime
from app.api.documents.document_models import DocumentDeletion, StoredDocument
from app.api.documents.selection_models import DocumentsDeletion
from app.cli import options
from app.cli.maintenance import owning
from app.cli.search import filter_option
from app.config import Settings
from app.pipelines.documents import documents as pipeline
from app.pipelines.documents import selections
from app.shapes import Document, Filters, RowCounts, SelectionDeletion, uris
from app.store.connection.transactions import Database

app = typer.Typer(help="Documents: list, show, delete.", no_args_is_help=True)
IdOrUri = Annotated[str, typer.Argument(metavar="ID_OR_URI", help="A document's id or uri.")]


@app.command("list")
def listed(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of documents.")] = 50,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """List documents without their text, newest first."""
    user_id = options.checked_user(user)
    found = owning.run_as_service(data_dir, lambda db: pipeline.page(user_id, db=db, limit=limit, after=None))
    if as_json:
        typer.echo(json.dumps([StoredDocument.of(document).model_dump(mode="json") for document in found]))
        return
    table = options.table("document_id", "title", "uri", "chunks", "updated", ids=("document_id",))
    for document in found:
        updated = document.updated_at.strftime("%Y-%m-%d %H:%M")
        table.add_row(
            str(document.document_id),
            escape(document.title),
            escape(uris.shown(document.uri or "")),
            str(document.chunk_count),
            updated,
        )
    options.print_table(table)


@app.command()
def show(
    id_or_uri: IdOrUri,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show a document with its metadata and its cleaned text."""
    found = owning.run_as_service(data_dir, partial(_get, id_or_uri, options.checked_user(user)))
    if as_json:
        typer.echo(StoredDocument.of(found).model_dump_json())
        return
    fields = ("document_id", "uri", "title", "language", "chunk_count", "created_at", "updated_at", "metadata")
    for name in fields:
        value = str(getattr(found, name))
        options.out.print(f"[bold]{name}[/]: {escape(uris.shown(value) if name == 'uri' else value)}", soft_wrap=True)
    typer.echo(f"\n{found.content}")


@app.command()
def delete(
    id_or_uri: Annotated[
        str | None, typer.Argument(metavar="[ID_OR_URI]", help="A document's id or uri.", show_default=False)
    ] = None,
    filters: filter_option.FiltersJson = None,
    every: Annotated[bool, typer.Option("--all", help="Delete all documents of the user.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count documents and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Delete a document with its chunks, vectors, postings and mentions, or the documents that pass filters."""
    user_id = options.checked_user(user)
    if id_or_uri is None:
        selected = _selected(filters, every=every)
        settings = options.settings(data_dir)
        _delete_selected(settings, selected, user_id, Asked(dry_run=dry_run, yes=yes, as_json=as_json))
        return
    if filters is not None or every or dry_run:
        raise errors.BadRequest("Name one document, or use --filters or --all.", field="ID_OR_URI")
    if not yes:
        found = owning.run_as_service(data_dir, partial(_get, id_or_uri, user_id))
        typer.confirm(
            f"Delete {found.title or uris.shown(found.uri or '') or found.document_id}?", abort=True, err=True
        )
    deleted = owning.run_as_service(data_dir, partial(_delete, id_or_uri, user_id))
    if as_json:
        typer.echo(DocumentDeletion.of(deleted).model_dump_json())
    else:
        options.out.print(f"Deleted a document with {deleted.chunks} chunks.")


@dataclass(frozen=True, slots=True)
class Asked:
    """How a deletion by filter is to be done and shown."""

    dry_run: bool
    yes: bool
    as_json: bool


def _selected(filters: str | None, *, every: bool) -> Filters:
    """The selected documents. Raises BadRequest for a selection that is empty or twofold."""
    only = filter_option.read(filters)
    if bool(only) == every:
        raise errors.BadRequest("Name a document, or use --filters with at least one condition, or --all.")
    return only


def _delete_selected(settings: Settings, selected: Filters, user_id: str, asked: Asked) -> None:
    if asked.dry_run or not asked.yes:
        counted = options.run(_count(settings, selected, user_id))
        if asked.dry_run:
            shown = DocumentsDeletion.counted(counted).model_dump_json()
            typer.echo(shown if asked.as_json else f"{_numbers(counted)} would be deleted.")
            return
        typer.confirm(f"Delete {_numbers(counted)}?", abort=True, err=True)
    done = options.run(_delete_all(settings, selected, user_id))
    if asked.as_json:
        typer.echo(DocumentsDeletion.done(done).model_dump_json())
        return
    options.out.print(f"Deleted {_numbers(done.deleted)}.")
    if done.remaining != RowCounts():
        options.out.print(f"{_numbers(done.remaining)} remain, and {done.remaining.postings} postings.")


def _numbers(counts: RowCounts) -> str:
    return f"{counts.documents} documents with {counts.chunks} chunks"


async def _count(settings: Settings, selected: Filters, user_id: str) -> RowCounts:
    async with runtime.open_database(settings, pool_size=1) as db:
        return await selections.count(selected, user_id, db=db)


async def _delete_all(settings: Settings, selected: Filters, user_id: str) -> SelectionDeletion:
    async with runtime.open_services(settings, pool_size=4) as services:
        return await selections.delete(selected, user_id, services, actor=owning.actor())


async def _delete(id_or_uri: str, user_id: str, db: Database) -> RowCounts:
    document = await _get(id_or_uri, user_id, db)
    return await pipeline.delete(document.document_id, user_id, db=db, actor=owning.actor())


async def _get(id_or_uri: str, user_id: str, db: Database) -> Document:
    """The document with this id, or else with this uri. Raises NotFound."""
    try:
        document_id = UUID(id_or_uri)
    except ValueError:
        document_id = (await _named(id_or_uri, user_id, db)).document_id
    return await pipeline.get(document_id, user_id, db=db)


async def _named(uri: str, user_id: str, db: Database) -> Document:
    """The document that a URI or a path means, also one that is relative to the working folder. Raises NotFound."""
    for named in (uri, options.absolute_path(uri)):
        with suppress(errors.NotFound):
            return await pipeline.with_uri(named, user_id, db=db)
    raise errors.NotFound("The user has no document with this id or uri.")
