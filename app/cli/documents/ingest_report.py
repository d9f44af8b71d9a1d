"""Prints and writes what an ingest has stored, refused and left out, or would read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from app import samples
from app.cli import options
from app.cli.backends.backend import Backend
from app.cli.backends.ingesting import CHUNK_BYTES, Files, Summary
from app.cli.documents import left_out
from app.parsing import formats

SAMPLED, SAMPLED_OF_FILE = 32, 4
"""Passages with which the embedding model is timed, and the largest number of one file."""


def show(summary: Summary) -> None:
    """Prints the counts, a table by format, what is left out, and each failure with its reason."""
    counts, failed = summary.counts, len(summary.failures)
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {summary.chunks} chunks."
    )
    _show_formats(summary, ("files", "documents", "chunks", "failed"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)


def _show_formats(summary: Summary, columns: Sequence[str]) -> None:
    if len(summary.formats) < 2:
        return
    table = options.table("format", *columns)
    for name, count in sorted(summary.formats.items(), key=lambda item: (-item[1].files, item[0])):
        label = formats.BY_NAME[name].label if name in formats.BY_NAME else "other"
        table.add_row(label, *(f"{getattr(count, column):,}" for column in columns))
    options.err.print(table)


def planned(summary: Summary, files: Files, backend: Backend) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    kept = {name: {"files": count.files, "bytes": count.bytes} for name, count in sorted(summary.formats.items())}
    chunks = round(files.text_bytes / CHUNK_BYTES)
    passages = sample(files) if chunks else []
    each_s = backend.seconds_per_chunk(passages) if passages else None
    minutes = None if each_s is None else round(chunks * each_s / 60, 1)
    estimated: dict[str, object] = {
        "estimated_chunks": chunks,
        "estimated_minutes": minutes,
        "measured_chunks": len(passages),
    }
    estimated |= {"pages": len(files.addresses)} if files.addresses else {}
    counted = {"dry_run": True, "files": len(files.listed), **estimated, "formats": kept}
    return {**counted, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def sample(files: Files) -> list[str]:
    """Passages as long as a chunk, from the texts among the files, else from the sample notes."""
    passages: list[str] = []
    for path in _texts(files):
        with path.open("rb") as opened:
            text = opened.read(SAMPLED_OF_FILE * CHUNK_BYTES).decode(errors="replace")
        passages += [text[start : start + CHUNK_BYTES] for start in range(0, len(text), CHUNK_BYTES)]
        if len(passages) >= SAMPLED:
            break
    return passages[:SAMPLED]


def _texts(files: Files) -> Iterator[Path]:
    read = [file.path for file in files.listed if file.text_share == 1 and file.size >= CHUNK_BYTES]
    yield from read[:: 1 + len(read) // SAMPLED]
    yield from sorted(samples.NOTES.rglob("*.md"))


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        options.out.print(f"{pages:,} pages would be fetched.")
    counted = f"{plan['files']:,} files would be read: about {plan['estimated_chunks']:,} chunks"
    if (minutes := plan["estimated_minutes"]) is not None:
        counted += f", {minutes:g} minutes for their vectors at the speed of {plan['measured_chunks']} passages now"
    options.out.print(f"{counted}.", soft_wrap=True)
    _show_formats(summary, ("files", "bytes"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)


def write(path: Path, report: Mapping[str, object]) -> None:
    """Writes a report as JSON."""
    options.write_text(path, json.dumps(report, ensure_ascii=False, indent=1) + "\n", option="--report")
