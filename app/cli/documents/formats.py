"""Implements `stepwell formats`: lists the formats of files that this installation reads."""

from __future__ import annotations

import json

import typer

from app.cli import options
from app.parsing.formats import FORMATS


def formats(as_json: options.AsJson = False) -> None:
    """List the formats, the suffixes of their files, and what is read of them.

    The first bytes of a file decide on its format; its suffix only distinguishes formats that are plain text.
    """
    if as_json:
        listed = [
            {"formats": one.listed, "suffixes": [f".{suffix}" for suffix in one.suffixes], "read": one.kept}
            for one in FORMATS
        ]
        typer.echo(json.dumps(listed))
        return
    table = options.table("format", "files", "what is read")
    for one in FORMATS:
        table.add_row(", ".join(one.listed), " ".join(f".{suffix}" for suffix in one.suffixes), one.kept)
    options.print_table(table)
