"""Implements `stepwell stats`: prints numbers of what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape

from app.cli import connecting, options, terminal
from app.cli.client import Client
from app.text import uris


@connecting.connect
def stats(client: Client, as_json: options.AsJson = False) -> None:
    """Print the numbers of documents and chunks, the embedding model, and documents with equal texts."""
    found = client.get("/stats")
    if as_json:
        terminal.write_json(found)
        return
    for name, value in found.items():
        if not isinstance(value, list | dict):
            options.out.print(f"[bold]{name}[/]: {'–' if value is None else escape(str(value))}", soft_wrap=True)
    equal = found["duplicates"]
    options.out.print(f"[bold]documents with the text of an older one[/]: {equal['documents']}")
    _print_sets("equal texts", equal["sets"])


def _print_sets(name: str, sets: Sequence[Mapping[str, Any]]) -> None:
    for one in sets:
        named = ", ".join(uris.show(document["uri"] or "") or document["title"] for document in one["documents"])
        more = ", …" if one["count"] > len(one["documents"]) else ""
        options.out.print(f"[bold]{name}[/]: {escape(named)}{more}", soft_wrap=True)
