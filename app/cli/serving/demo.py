"""Implements `stepwell demo`: ingests sample notes, runs three searches and starts the service."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from app import config, errors, runtime, samples, telemetry
from app.cli import options
from app.cli.backends import local_ingest, local_search
from app.cli.backends.ingesting import Summary
from app.cli.search import multihop, search
from app.cli.serving import listening, serving
from app.config import Settings
from app.pipelines.running.services import Services
from app.shapes import Upload

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
    telemetry.configure("error", settings.log_json)
    options.run(_demo(settings, options.checked_user(user), serve_after=serve_after))


def with_sample_folder(settings: Settings) -> Settings:
    """Returns the settings with the folder of the sample notes among those that sources may be added from."""
    return settings.model_copy(update={"source_roots": (*settings.source_roots, str(samples.NOTES.parent))})


async def _demo(settings: Settings, user: str, *, serve_after: bool) -> None:
    stack = AsyncExitStack()
    async with stack:
        options.err.print("Starting Postgres and loading the model …")
        services = await stack.enter_async_context(runtime.open_services(settings, runs_jobs=True))
        await ingest_samples(services, user)
        for kind in SHOWN:
            question = next(q for q in samples.QUESTIONS if q.kind == kind)
            asked = {"query": question.text, "limit": 3, "explain": True}
            answer = await local_search.search(asked, user, services)
            search.show(answer, question.text)
        linked = next(q for q in samples.QUESTIONS if q.kind == "multihop")
        answer = await local_search.search_multihop({"query": linked.text, "limit": 5}, user, services)
        options.out.print(multihop.chain(answer))
        if serve_after:
            telemetry.configure(settings.log_level, settings.log_json)
            await serving.listen(_with_free_port(settings), services, stack.pop_all())


async def ingest_samples(services: Services, user: str) -> None:
    """Stores the sample notes under their path, as `sample/people/cliff-clarke.md`."""
    paths = sorted(samples.NOTES.rglob("*.md"))
    summary = Summary()
    total_bytes = sum(path.stat().st_size for path in paths)
    await local_ingest.store(_notes(paths), total_bytes, summary, user, services)
    options.err.print(f"{len(paths)} sample notes of a small company: {summary.chunks} chunks.")


def _notes(paths: list[Path]) -> Iterator[Upload]:
    for path in paths:
        uri = f"sample/{path.relative_to(samples.NOTES).as_posix()}"
        yield Upload(path.read_text(encoding="utf-8"), uri=uri, metadata={"filename": path.name})


def _with_free_port(settings: Settings) -> Settings:
    """Returns the settings, with a free port where theirs is in use."""
    try:
        listening.check_port(settings)
    except errors.Conflict:
        with socket.socket() as probe:
            probe.bind((settings.host, 0))
            return settings.model_copy(update={"port": probe.getsockname()[1]})
    return settings
