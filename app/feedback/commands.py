"""Implements `stepwell feedback`: judges hits, and exports the judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from app import errors
from app.cli import client_options, options, terminal
from app.cli.client import Answer, Body, Client
from app.documents.commands import documents

app = typer.Typer(help="Feedback: give, export.", no_args_is_help=True)


@app.command()
@client_options.connect
def give(
    client: Client,
    query: Annotated[str, typer.Argument(help="The query of the search.")],
    passage: Annotated[str, typer.Argument(help="Id of a chunk or document, or URI or path of a document.")],
    helpful: Annotated[
        bool | None, typer.Option("--helpful/--not-helpful", help="Whether it helped to answer the query.")
    ] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw what was said before.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Say whether a passage, or a document as a whole, helped with a query; a later judgement replaces it."""
    if (helpful is None) != withdraw:
        raise errors.BadRequest("Use one of --helpful, --not-helpful and --withdraw.", field="--helpful")
    answer = _send(client, {"query": query, "helpful": helpful}, passage)
    terminal.end_with_json(answer, wanted=as_json)
    terminal.out.print("Withdrawn." if withdraw else f"Stored: {'helpful' if helpful else 'not helpful'}.")


def _send(client: Client, judgement: Body, passage: str) -> Answer:
    """Send the judgement of the chunk or document with this id, else of the document with this URI."""
    try:
        found = str(UUID(passage))
    except ValueError:
        return client.post("/feedback", {**judgement, "document_id": documents.find(client, passage)["document_id"]})
    try:
        return client.post("/feedback", {**judgement, "chunk_id": found})
    except errors.StepwellError as error:
        if error.status != errors.NotFound.status:
            raise
    return client.post("/feedback", {**judgement, "document_id": found})


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The folder to write; its files are replaced.")],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write judged queries with all documents as a set that `eval` and `calibrate` read (BEIR layout)."""
    user_id, settings = options.check_user(user), options.settings(data_dir)

    async def write() -> tuple[int, int]:
        from app import runtime
        from app.feedback import operations as feedback

        async with runtime.open_services(settings, pool_size=2) as services:
            return await feedback.export(user_id, folder, services)

    questions, documents = options.run(write())
    terminal.end_with_json({"questions": questions, "documents": documents}, wanted=as_json)
    counts = (terminal.format_count(questions, "question"), terminal.format_count(documents, "document"))
    terminal.out.print(f"Wrote {folder}: {', '.join(counts)}.", markup=False)
