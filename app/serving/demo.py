"""Implements `stepwell demo`: ingests sample notes, runs three searches and starts the service."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from app import errors, samples, telemetry
from app import settings as config
from app.cli import options
from app.cli.client import Answer, Client
from app.multihop import commands as multihop
from app.search.commands import search
from app.serving import in_process, listening, serving
from app.settings import Settings

SHOWN = ("hybrid", "technical")
"""Kinds of sample questions for `search`; the demo runs the first of each."""


def demo(
    serve_after: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Start the service after the searches.")
    ] = True,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000", min=0, max=65535)] = None,
    user: options.User = options.LOCAL,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest the sample notes, run three searches and start the service."""
    settings = with_sample_folder(config.load(data_dir=data_dir, port=port, workers=1))
    with in_process.client(user, data_dir) as client:
        options.err.print("Starting Postgres and loading the model, which is downloaded once if no package has it …")
        _ingest(client)
        _search(client)
    if serve_after:
        telemetry.configure(settings.log_level, settings.log_json)
        serving.run(_with_free_port(settings))


def with_sample_folder(settings: Settings) -> Settings:
    """Returns the settings with the folder of the sample notes as a folder for sources."""
    return settings.model_copy(update={"source_roots": (*settings.source_roots, str(samples.NOTES.parent))})


def sample_documents() -> list[Answer]:
    """The sample notes under their path, as `sample/people/cliff-clarke.md`."""
    return [
        {
            "content": path.read_text(encoding="utf-8"),
            "uri": f"sample/{path.relative_to(samples.NOTES).as_posix()}",
            "metadata": {"filename": path.name},
        }
        for path in sorted(samples.NOTES.rglob("*.md"))
    ]


def _ingest(client: Client) -> None:
    stored = client.send("POST", "/documents", json=sample_documents())["documents"]
    client.finish_jobs()
    chunks = sum(one["chunk_count"] for one in stored)
    options.err.print(f"{len(stored)} sample notes of a small company: {chunks} chunks.")


def _search(client: Client) -> None:
    for kind in SHOWN:
        query = next(question.text for question in samples.QUESTIONS if question.kind == kind)
        search.show(client.post("/search", {"query": query, "limit": 3, "detail": "compact"}), query)
    query = next(question.text for question in samples.QUESTIONS if question.kind == "multihop")
    options.out.print(multihop.chain(client.post("/search/multihop", {"query": query, "detail": "compact"})))


def _with_free_port(settings: Settings) -> Settings:
    """Returns the settings, with a free port where theirs is in use."""
    try:
        listening.check_port(settings)
    except errors.Conflict:
        with socket.socket() as probe:
            probe.bind((settings.host, 0))
            return settings.model_copy(update={"port": probe.getsockname()[1]})
    return settings
