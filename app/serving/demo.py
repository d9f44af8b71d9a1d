"""Implements `stepwell demo`: ingests sample notes, answers three questions and starts the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from app import errors, logging_setup, samples
from app import settings as config
from app.cli import options, terminal
from app.cli.client import Answer, Client
from app.multihop import commands as multihop
from app.search import commands as search
from app.serving import http_process, in_process, listening
from app.settings import Settings
from app.text.structure import sentences


def demo(
    serve_after: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Start the service after the searches.")
    ] = True,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000", min=0, max=65535)] = None,
    user: options.User = options.LOCAL,
    data_dir: options.DataDir = None,
) -> None:
    """Ingest the sample notes, show the answers to three questions and start the service."""
    settings = with_sample_folder(config.load(data_dir=data_dir, port=port, workers=1))
    settings = settings if settings.log_json is not None else settings.model_copy(update={"log_json": False})
    with in_process.client(user, data_dir) as client:
        terminal.err.print("Starting Postgres and loading the model, which is downloaded once if no package has it …")
        stored = client.send("POST", "/documents", json=sample_documents())["documents"]
        client.backend.finish_jobs()
        chunks = sum(one["chunk_count"] for one in stored)
        terminal.err.print(f"{len(stored)} sample notes of a small company: {chunks} passages.")
        for question in samples.QUESTIONS:
            if question.words:
                _ask(question, client)
    if serve_after:
        logging_setup.configure(settings.log_level, settings.log_json)
        http_process.run(with_free_port(settings))


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


def _ask(question: samples.SampleQuestion, client: Client) -> None:
    """Shows the passages that a question finds, and the sentence in them that answers it."""
    terminal.out.print()
    request = {"query": question.text, "detail": "compact"}
    if question.kind == "multihop":
        answer = client.post("/search/multihop", request)
        terminal.out.print(multihop.chain(answer))
    else:
        answer = client.post("/search", {**request, "limit": 3})
        search.show(answer, question.text)
    found = next(_sentences(answer, question.words), None)
    if found is None:
        terminal.out.print(f"[yellow]None of these passages has the answer, “{escape(question.words)}”.[/]")
    else:
        terminal.out.print(f"[bold green]Answer[/] (passage {found[0]}): {escape(found[1])}")


def _sentences(answer: Answer, words: str) -> Iterator[tuple[int, str]]:
    """The titles and sentences of passages that contain some words, with the places of the passages."""
    for place, hit in enumerate(answer["results"], 1):
        lines = hit["snippet"]["text"].splitlines()
        found = (line[start:end] for line in lines for start, end in sentences.spans(line, 0, len(line)))
        for one in (hit["title"], *found):
            if words in one:
                yield place, " ".join(one.split())


def with_free_port(settings: Settings) -> Settings:
    """Returns the settings, with a free port for port 0. If their port is in use, prints that and sets a free port."""
    try:
        listening.check_port(settings)
    except errors.Conflict:
        moved = listening.choose_port(settings.model_copy(update={"port": 0}))
        terminal.err.print(
            f"Port {settings.port} is in use: the demo serves on {moved.address} (--port chooses one).", soft_wrap=True
        )
        return moved
    return listening.choose_port(settings)
