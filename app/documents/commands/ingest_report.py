"""Prints and writes what an ingest has stored, refused and left out, or would read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from rich.markup import escape

from app.cli import options
from app.documents.commands import left_out
from app.documents.commands.ingesting import Files, Summary
from app.parsing import formats

MOST_WARNED = 30
"""Files whose warnings are printed."""


def show(summary: Summary) -> None:
    """Prints a table by format, what is left out, warnings by file, each failure with its reason, and the counts."""
    _show_formats(summary, ("files", "documents", "chunks", "failed"))
    left_out.show(summary.left_out.as_json())
    _show_warnings(summary.warnings)
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(summary.reason(path, reason))}", soft_wrap=True)
    counts, failed = summary.counts, len(summary.failures)
    chunks = options.format_count(summary.chunks, "chunk")
    options.out.print(
        f"{counts['added']} added, {counts['replaced']} replaced, {counts['unchanged']} unchanged, "
        f"{failed} failed; {chunks} in {timedelta(seconds=round(summary.seconds))}."
    )


def _show_warnings(warnings: Sequence[tuple[str, str]]) -> None:
    """Prints a line for each file, up to MOST_WARNED."""
    by_path: dict[str, list[str]] = {}
    for path, warning in warnings:
        by_path.setdefault(path, []).append(warning)
    for path, found in islice(by_path.items(), MOST_WARNED):
        options.err.print(f"[yellow]warning[/] {escape(path)}: {escape(' '.join(found))}", soft_wrap=True)
    if (more := len(by_path) - MOST_WARNED) > 0:
        options.err.print(f"Warnings on {more:,} more files are in the report of --report.", soft_wrap=True)


def so_far(summary: Summary, files: Files) -> str:
    """What an interrupted ingest has stored, and how to go on."""
    chunks = options.format_count(summary.chunks, "chunk")
    return (
        f"{summary.read:,} of {len(files.listed):,} files are done, with {chunks}. "
        "Repeat the command to continue: files that have not changed are not stored again."
    )


def _show_formats(summary: Summary, columns: Sequence[str]) -> None:
    if len(summary.formats) < 2:
        return
    table = options.table("format", *columns)
    for name, count in sorted(summary.formats.items(), key=lambda item: (-item[1].files, item[0])):
        label = formats.BY_NAME[name].label if name in formats.BY_NAME else "other"
        table.add_row(label, *(f"{getattr(count, column):,}" for column in columns))
    options.err.print(table)


def planned(summary: Summary, files: Files) -> dict[str, object]:
    """What an ingest would read, as --dry-run --json prints it."""
    kept = {name: {"files": count.files, "bytes": count.bytes} for name, count in sorted(summary.formats.items())}
    pages = {"pages": len(files.addresses)} if files.addresses else {}
    counted = {"dry_run": True, "files": len(files.listed), "estimated_chunks": files.chunks}
    read = {**counted, **pages, "formats": kept}
    return {**read, "left_out": summary.left_out.as_json(), "failures": summary.as_json()["failures"]}


def show_plan(summary: Summary, plan: Mapping[str, Any]) -> None:
    """Prints what an ingest would read."""
    if pages := plan.get("pages"):
        options.out.print(f"{options.format_count(pages, 'page')} would be fetched.")
    files, chunks = (
        options.format_count(plan[name], noun) for name, noun in (("files", "file"), ("estimated_chunks", "chunk"))
    )
    counted = f"{files} would be read: about {chunks}."
    options.out.print(counted, soft_wrap=True)
    _show_formats(summary, ("files", "bytes"))
    left_out.show(summary.left_out.as_json())
    for path, reason in summary.failures:
        options.err.print(f"[red]failed[/] {escape(path)}: {escape(reason)}", soft_wrap=True)


def write(path: Path, report: Mapping[str, object]) -> None:
    """Writes a report as JSON."""
    options.write_text(path, json.dumps(report, ensure_ascii=False, indent=1) + "\n", option="--report")
