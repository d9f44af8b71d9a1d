"""Implements `stepwell facets`: lists the keys and values of metadata, or folders and file types."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from app.cli import client_options, json_arguments, options, terminal
from app.cli.client import Client

MOST_VALUES = 100


@client_options.connect
def facets(
    client: Client,
    key: Annotated[str | None, typer.Argument(help="Only this key.", show_default=False)] = None,
    prefix: Annotated[
        str | None, typer.Option(help="Beginning of the keys, or with a key of its values, in any case.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=MOST_VALUES, help="Values per key.")] = 10,
    files: Annotated[bool, typer.Option("--files", help="Count folders and file types instead.")] = False,
    filters: json_arguments.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """List the keys of the documents' metadata with their types, values and numbers of documents."""
    of = "files" if files else "metadata"
    answer = client.get("/facets", key=key, prefix=prefix, limit=limit, of=of, filters=json_arguments.filters(filters))
    terminal.end_with_json(answer, wanted=as_json)
    table = terminal.table("key", "documents", "types", "values")
    for one in answer["facets"]:
        values = ", ".join(f"{_show(value['value'])} ({value['documents']})" for value in one["values"])
        more = ", …" if one["distinct"] > len(one["values"]) else ""
        table.add_row(one["key"], str(one["documents"]), ", ".join(one["types"]), values + more)
    sought = key or (f"{prefix}…" if prefix else None)
    terminal.print_table(
        table, empty=f"No document has the key {sought}: `stepwell facets` lists all." if sought else "None found."
    )


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
