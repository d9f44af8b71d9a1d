"""Implements `stepwell documents`: lists, shows and deletes stored documents."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app import errors
from app.api.document_models import StoredDocument
from app.cli import options, owning
from app.pipelines import documents as pipeline
from app.shapes import DeletionResult, Document
from app.store.db import Database

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
    found = owning.run_as_service(data_dir, lambda db: pipeline.page(user_id, db=db, limit=limit, after=None, uri=None))
    if as_json:
        typer.echo(json.dumps([StoredDocument.of(document).model_dump(mode="json") for document in found]))
        return
    table = options.table("document_id", "title", "uri", "chunks", "updated", ids=("document_id",))
    for document in found:
        updated = document.updated_at.strftime("%Y-%m-%d %H:%M")
        table.add_row(
            str(document.document_id),
            escape(document.title),
            escape(document.uri or ""),
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
        options.out.print(f"[bold]{name}[/]: {escape(str(getattr(found, name)))}", soft_wrap=True)
    typer.echo(f"\n{found.content}")


@app.command()
def delete(
    id_or_uri: IdOrUri,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Delete a document with its chunks, vectors and mentions."""
    user_id = options.checked_user(user)
    if not yes:
        found = owning.run_as_service(data_dir, partial(_get, id_or_uri, user_id))
        typer.confirm(f"Delete {found.title or found.uri or found.document_id}?", abort=True, err=True)
    deleted = owning.run_as_service(data_dir, partial(_delete, id_or_uri, user_id))
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(deleted)))
    else:
        options.out.print(f"Deleted a document with {deleted.chunks_deleted} chunks.")


async def _delete(id_or_uri: str, user_id: str, db: Database) -> DeletionResult:
    document = await _get(id_or_uri, user_id, db)
    return await pipeline.delete(document.document_id, user_id, db=db, actor=owning.actor())


async def _get(id_or_uri: str, user_id: str, db: Database) -> Document:
    """The document with this id, or else with this uri. Raises NotFound."""
    try:
        document_id = UUID(id_or_uri)
    except ValueError:
        found = await pipeline.page(user_id, db=db, limit=1, after=None, uri=id_or_uri)
        if not found:
            raise errors.NotFound("The user has no document with this id or uri.") from None
        document_id = found[0].document_id
    return await pipeline.get(document_id, user_id, db=db)
