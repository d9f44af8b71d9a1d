"""`stepwell ingest`: files and folders of text and Markdown go in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from app import errors, runtime
from app.cli import options
from app.config import Settings
from app.pipelines import ingest as story
from app.pipelines import mention_refresh
from app.pipelines.services import Services
from app.shapes import Upload
from app.text import cleaning

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})
READABLE = MARKDOWN | {".txt", ".text"}
LARGEST_FILE = 50_000_000


class Rate(ProgressColumn):
    """Documents a second."""

    def render(self, task: Task) -> Text:
        """The rate so far."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")


@dataclass(slots=True)
class Summary:
    """What became of the files, by status, and why some failed."""

    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The summary for programs."""
        statuses = {name: self.counts[name] for name in ("added", "replaced", "unchanged")}
        failed = [{"path": path, "reason": reason} for path, reason in self.failures]
        return {**statuses, "failed": len(failed), "chunks": self.chunks, "failures": failed}


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files, and folders that are searched for text and Markdown.")],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Add files to the search. Safe to interrupt and to repeat: what is there already is not embedded again."""
    summary = Summary()
    files = find(paths, summary)
    options.run(_ingest(files, summary, options.checked_user(user), options.settings(data_dir)))
    if as_json:
        typer.echo(json.dumps(summary.as_json()))
    else:
        _show(summary)
    if summary.failures:
        raise typer.Exit(1)


def find(paths: Sequence[Path], summary: Summary) -> list[Path]:
    """The files to read, each once, in order; what does not exist is noted as failed."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(sorted(p for p in path.rglob("*") if _wanted(p, path))))
        elif path.is_file():
            found[path] = None
        else:
            summary.failures.append((str(path), "No such file or folder."))
    return list(found)


def _wanted(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return not hidden and path.suffix.lower() in READABLE and path.is_file()


def read(files: Sequence[Path], summary: Summary) -> Iterator[Upload]:
    """The files' texts; one that cannot be read is noted as failed and left out."""
    for path in files:
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise errors.BadRequest(f"Larger than {LARGEST_FILE // 1_000_000} MB.")
            text = cleaning.decode(path.read_bytes()).text
        except (OSError, errors.BadRequest) as error:
            summary.failures.append((str(path), getattr(error, "message", None) or str(error.strerror)))  # type: ignore[union-attr]
            continue
        yield upload(path, text, uri=path.resolve().as_uri())


def upload(path: Path, text: str, *, uri: str) -> Upload:
    """A file as an upload; its name is the title where the text has none of its own."""
    markdown = path.suffix.lower() in MARKDOWN
    return Upload(text, uri=uri, markdown=markdown, metadata={"filename": path.name})


async def _ingest(files: Sequence[Path], summary: Summary, user_id: str, settings: Settings) -> None:
    async with runtime.open_services(settings) as services:
        await store(read(files, summary), len(files), summary, user_id, services)
        await mention_refresh.settle(services.db, user_id, keys=services.chunking_options.entity_keys)


async def store(uploads: Iterator[Upload], total: int, summary: Summary, user_id: str, services: Services) -> None:
    """Store the uploads under a progress bar with rate and time left."""
    columns = (TextColumn("Ingesting"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=options.err) as bar:
        task = bar.add_task("ingest", total=total)
        outcomes = story.many(
            uploads, user_id, db=services.db, embedder=services.embedder, options=services.chunking_options
        )
        async for outcome in outcomes:
            if outcome.stored is not None:
                summary.counts[outcome.stored.status] += 1
                summary.chunks += outcome.stored.chunk_count
            elif outcome.error is not None:
                summary.failures.append((outcome.upload.uri or "", outcome.error.message))
            bar.update(task, advance=1)
        bar.update(task, completed=total)


def _show(summary: Summary) -> None:
    counts = summary.counts
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{len(summary.failures)} failed; {summary.chunks} chunks."
    )
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}")
