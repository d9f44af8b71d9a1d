"""Implements `stepwell stats`: prints numbers of what is stored."""

from __future__ import annotations

import json

import typer
from rich.markup import escape

from app.cli import options
from app.cli.backends import connecting
from app.cli.backends.backend import Backend
from app.shapes import uris


@connecting.connected
def stats(backend: Backend, as_json: options.AsJson = False) -> None:
    """Print the numbers of documents and chunks, the embedding model, and documents with equal texts."""
    found = backend.stats()
    if as_json:
        typer.echo(json.dumps(found))
        return
    for name, value in found.items():
        if not isinstance(value, list | dict):
            options.out.print(f"[bold]{name}[/]: {escape(str(value))}", soft_wrap=True)
    options.out.print(f"[bold]documents with the text of an older one[/]: {found['duplicates']['documents']}")
    for equal in found["duplicates"]["sets"]:
        named = ", ".join(uris.shown(one["uri"] or "") or one["title"] for one in equal["documents"])
        options.out.print(f"[bold]equal texts[/]: {escape(named)}", soft_wrap=True)
