"""Implements `stepwell feedback`: lists and exports what was said of hits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from app import runtime
from app.cli import options
from app.config import Settings
from app.evaluation import feedback_sets
from app.pipelines.search import feedback as pipeline
from app.shapes import GivenFeedback, uris

app = typer.Typer(help="Feedback: list, export.", no_args_is_help=True)


@app.command("list")
def listed(
    user: options.User = options.LOCAL, as_json: options.AsJson = False, data_dir: options.DataDir = None
) -> None:
    """List judgements of hits, newest first."""
    found = options.run(_listed(options.checked_user(user), options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps([_row(one) for one in found], ensure_ascii=False))
        return
    table = options.table("at", "helpful", "query", "document")
    for one in found:
        helpful = "yes" if one.helpful else "no"
        table.add_row(
            f"{one.at:%Y-%m-%d %H:%M}", helpful, escape(one.query), escape(uris.shown(one.uri or "") or one.title)
        )
    options.print_table(table)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The folder to write; its files are replaced.")],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write judged queries with all documents as a set that `eval` and `calibrate` read (BEIR layout)."""
    questions, documents = options.run(_export(options.checked_user(user), folder, options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps({"questions": questions, "documents": documents}))
    else:
        options.out.print(f"Wrote {folder}: {questions} questions, {documents} documents.", markup=False)


async def _listed(user_id: str, settings: Settings) -> list[GivenFeedback]:
    async with runtime.open_services(settings, pool_size=2) as services:
        return [one async for one in pipeline.listed(user_id, services)]


async def _export(user_id: str, folder: Path, settings: Settings) -> tuple[int, int]:
    async with runtime.open_services(settings, pool_size=2) as services:
        return await feedback_sets.export(user_id, folder, services)


def _row(one: GivenFeedback) -> dict[str, object]:
    return {
        "at": one.at.isoformat(),
        "query": one.query,
        "helpful": one.helpful,
        "document_id": str(one.document_id),
        "chunk_id": str(one.chunk_id) if one.chunk_id else None,
        "uri": one.uri,
        "title": one.title,
    }
