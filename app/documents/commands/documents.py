"""Implements `stepwell documents` and `stepwell stats`: lists, shows, deletes and counts stored documents."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app import errors
from app.cli import client_options, json_arguments, options, terminal
from app.cli.client import Answer, Client
from app.text import uris


@client_options.connect
def stats(client: Client, as_json: options.AsJson = False) -> None:
    """Print the numbers of documents and chunks, and the embedding model."""
    found = client.get("/stats")
    terminal.end_with_json(found, wanted=as_json)
    for name, value in found.items():
        if not isinstance(value, list | dict):
            terminal.out.print(f"[bold]{name}[/]: {'–' if value is None else escape(str(value))}", soft_wrap=True)


FIRST_CHARACTERS = 50
"""A document without title and uri is shown by this many characters of its text."""
app = typer.Typer(help="Documents: list, show, delete.", no_args_is_help=True)
IdOrUri = Annotated[str, typer.Argument(metavar="ID_OR_URI", help="A document's id, uri or path.")]


@app.command("list")
@client_options.connect
def list_all(
    client: Client,
    query: Annotated[str | None, typer.Option("--query", help="Only those with these words in title and uri.")] = None,
    filters: json_arguments.FiltersJson = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of documents.")] = 50,
    as_json: options.AsJson = False,
) -> None:
    """List documents without their text, newest first."""
    found = client.list("/documents", "documents", limit=limit, query=query, filters=json_arguments.filters(filters))
    terminal.end_with_json(found, wanted=as_json)
    table = terminal.table("document", "chunks", "updated", ids=("document",))
    for document in found:
        named = document["title"] or textwrap.shorten(document["content"] or "", FIRST_CHARACTERS, placeholder=" …")
        shown = terminal.cell(named, uris.show(document["uri"] or ""), identity=document["document_id"])
        table.add_row(shown, str(document["chunk_count"]), terminal.moment(document["updated_at"]))
    terminal.print_table(table)


@app.command()
@client_options.connect
def show(client: Client, id_or_uri: IdOrUri, as_json: options.AsJson = False) -> None:
    """Show a document with its metadata and its cleaned text."""
    found = find(client, id_or_uri)
    terminal.end_with_json(found, wanted=as_json)
    fields = ("document_id", "uri", "title", "language", "chunk_count", "created_at", "updated_at", "metadata")
    for name in fields:
        value = "–" if found[name] in (None, "") else found[name]
        value = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        terminal.out.print(f"[bold]{name}[/]: {escape(uris.show(value) if name == 'uri' else value)}", soft_wrap=True)
    terminal.write(f"\n{found['content']}")


@app.command()
@client_options.connect
def delete(
    client: Client,
    id_or_uri: Annotated[
        str | None, typer.Argument(metavar="[ID_OR_URI]", help="A document's id, uri or path.", show_default=False)
    ] = None,
    filters: json_arguments.FiltersJson = None,
    every: Annotated[bool, typer.Option("--all", help="Delete all documents of the user.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count documents and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Delete a document with its chunks, vectors, postings and mentions, or the documents that pass filters."""
    if id_or_uri is None:
        selected = {"all": True} if every else {"filters": json_arguments.filters(filters) or {}}
        if every and filters is not None:
            raise errors.BadRequest("Use either --filters or --all.", field="--all")
        _delete_selected(client, selected, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if filters is not None or every or dry_run:
        raise errors.BadRequest("Name one document, or use --filters or --all.", field="ID_OR_URI")
    found = find(client, id_or_uri)
    if not yes:
        named = found["title"] or uris.show(found["uri"] or "") or found["document_id"]
        terminal.confirm(f"Delete {named}?")
    deleted = client.delete(f"/documents/{found['document_id']}")
    terminal.end_with_json(deleted, wanted=as_json)
    terminal.out.print(f"Deleted a document with {terminal.format_count(deleted['chunks_deleted'], 'chunk')}.")


def find(client: Client, id_or_uri: str) -> Answer:
    """The document with this id, URI or path, which may be relative to the working folder. Raises NotFound."""
    try:
        return client.get(f"/documents/{UUID(id_or_uri)}")
    except ValueError:
        pass
    except errors.StepwellError as error:  # a uri may look like an id
        if error.code != errors.NotFound.code:
            raise
    for named in (id_or_uri, options.absolute_path(id_or_uri)):
        if found := client.get("/documents", uri=named, limit=1)["documents"]:
            return client.get(f"/documents/{found[0]['document_id']}")
    raise errors.NotFound("There is no document with this id or uri.")


def _delete_selected(client: Client, selected: Answer, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    if dry_run or not yes:
        counted = client.post("/documents/delete", {**selected, "dry_run": True})
        if dry_run:
            terminal.end_with_json(counted, wanted=as_json)
            terminal.write(f"{_numbers(counted['matched'])} would be deleted.")
            return
        terminal.confirm(f"Delete {_numbers(counted['matched'])}?")
    done = client.post("/documents/delete", selected)
    terminal.end_with_json(done, wanted=as_json)
    deleted = {"documents": done["documents_deleted"], "chunks": done["chunks_deleted"]}
    terminal.out.print(f"Deleted {_numbers(deleted)}.")


def _numbers(counts: Answer) -> str:
    documents = terminal.format_count(counts["documents"], "document")
    return f"{documents} with {terminal.format_count(counts['chunks'], 'chunk')}"
