"""Prints what was left out of a folder."""

from __future__ import annotations

from collections.abc import Mapping

from rich.markup import escape

from app.cli import options
from app.shapes import LeftOut, LeftOutReason

LABELS: Mapping[LeftOutReason, str] = {
    "hidden": "hidden",
    "ignored": "excluded by .gitignore",
    "vendored": "installed packages",
    "generated": "generated",
    "database": "of a Postgres server",
    "link": "symbolic links",
    "binary": "neither text nor of a supported format",
    "empty": "empty",
    "too_large": "too large",
}


def show(left_out: LeftOut) -> None:
    """Prints a line for each reason, with the number of files and folders and the first of them."""
    for reason, label in LABELS.items():
        if count := left_out.counts[reason]:
            examples = ", ".join(left_out.examples[reason]) + (", …" if count > len(left_out.examples[reason]) else "")
            options.err.print(f"Left out {count} {label}: {escape(examples)}", soft_wrap=True)
