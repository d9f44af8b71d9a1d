"""Prints what was left out of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from app.cli import options
from app.kinds import LeftOutReason

LABELS: Mapping[LeftOutReason, str] = {
    "hidden": "hidden",
    "ignored": "excluded by .gitignore",
    "vendored": "installed packages",
    "generated": "generated",
    "database": "of a Postgres server",
    "link": "symbolic links",
    "binary": "neither text nor of a supported format",
    "empty": "without text",
    "too_large": "too large",
}


def show(counted: Mapping[str, Any]) -> None:
    """Prints a line for each reason, with the number of files and folders and some of them."""
    for reason, label in LABELS.items():
        if (found := counted.get(reason)) is not None:
            examples = ", ".join(found["examples"]) + (", …" if found["count"] > len(found["examples"]) else "")
            options.err.print(f"Left out {found['count']} {label}: {escape(examples)}", soft_wrap=True)
