"""Implements `stepwell why`: shows where a passage ranks in a search and what keeps it out of the answer."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app import errors, limits
from app.cli import client_options, json_arguments, options, terminal
from app.cli.client import Answer, Body, Client
from app.search import commands as search


@client_options.connect
def why(
    client: Client,
    query: Annotated[str, typer.Argument(help="The query of the search.")],
    passage: Annotated[str, typer.Argument(help="URI or path of a document, or the id of a document or chunk.")],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of hits.")] = 5,
    mode: options.Mode = "auto",
    rerank: options.Rerank = "none",
    mmr: options.Mmr = False,
    recency: search.Recency = None,
    collapse: options.Collapse = True,
    hierarchy: options.Hierarchy = True,
    filters: json_arguments.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Show where a passage ranks in a search, what keeps it out of the answer and what would bring it in.

    A query that begins with - follows --: stepwell why -- '-cement lime' notes/lime.md.
    """
    request = search.build(
        query, limit=limit, mode=mode, filters=filters, collapse=collapse, recency=recency, rerank=rerank,
        mmr=mmr, hierarchy=None if hierarchy else "off",
    )  # fmt: skip
    answer = _explain(request, passage, client)
    terminal.end_with_json(answer, wanted=as_json)
    _show({**answer, "legs": None, **{f"{name} leg": _leg(leg) for name, leg in answer["legs"].items()}})


def _show(lines: Body) -> None:
    """Prints a line for each entry that has a value."""
    for name, value in lines.items():
        if value not in (None, [], {}):
            shown = value if isinstance(value, str) else json.dumps(value)
            terminal.out.print(f"[bold]{name.replace('_', ' ')}[/]: {escape(shown)}", soft_wrap=True)


def _leg(leg: Body) -> str:
    """The rank of the passage in a leg, as text."""
    if leg["rank"] is None:
        return "not found"
    beyond = "" if leg["is_candidate"] else ", beyond the candidates"
    return f"rank {leg['rank']}, score {leg['score']:.3f}{beyond}"


def _explain(request: Body, passage: str, client: Client) -> Answer:
    """Explains the chunk or document with this id, or else the document with this path or URI. Raises NotFound."""
    keys = [{"uri": options.absolute_path(passage)}, {"uri": passage}]
    with suppress(ValueError):
        found = str(UUID(passage))
        keys = [{"chunk_id": found}, {"document_id": found}, {"uri": passage}]
    for key in keys:
        try:
            return client.post("/search/why", {**request, **key})
        except errors.StepwellError as error:
            if error.status != errors.NotFound.status:
                raise
    raise errors.NotFound(f"No such passage: {passage}.")
