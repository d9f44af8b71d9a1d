"""Implements `stepwell why`: shows where a passage stands in a search and what keeps it out of the answer."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app.cli import options
from app.cli.backends import connecting
from app.cli.backends.backend import Answer, Backend, Body
from app.cli.search import json_option, passage_text, recency_option
from app.cli.search.search import request_of
from app.shapes import limits


@connecting.connected
def why(
    backend: Backend,
    query: Annotated[str, typer.Argument(help="The query of the search.")],
    passage: Annotated[str, typer.Argument(help="URI or path of a document, or the id of a document or chunk.")],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of hits.")] = 5,
    mode: options.Legs = options.Mode.auto,
    rerank: options.Reranking = options.Rerank.none,
    mmr: options.Mmr = False,
    recency: recency_option.RecencyText = None,
    hierarchy: options.Hierarchy = True,
    hierarchy_alpha: options.HierarchyAlpha = None,
    filters: json_option.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Show where a passage stands in a search, what keeps it out of the answer and what would bring it in.

    A query that begins with - follows --: stepwell why -- '-cement lime' notes/lime.md.
    """
    request = request_of(
        query, limit=limit, mode=mode.value, rerank=rerank.value, mmr=mmr, recency=recency,
        hierarchy="auto" if hierarchy else "off", alpha=hierarchy_alpha, filters=filters,
    )  # fmt: skip
    answer = _of_passage(request, passage, backend)
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        show(answer)
    if answer["verdict"] == "not_found":
        raise typer.Exit(1)


def _of_passage(request: Body, passage: str, backend: Backend) -> Answer:
    """The explanation of the document with this URI or path, else of the chunk or document with this id."""
    keys = [{"uri": options.absolute_path(passage)}, {"uri": passage}]
    with suppress(ValueError):
        found = str(UUID(passage))
        keys = [{"chunk_id": found}, {"document_id": found}, {"uri": passage}]
    for key in keys:
        answer = backend.why({**request, **key})
        if answer["verdict"] != "not_found":
            break
    return answer


def show(answer: Answer) -> None:
    """Prints the verdict with its reason, then the legs and the steps."""
    options.out.print(f"[bold]{answer['verdict'].replace('_', ' ')}[/]: {escape(answer['summary'])}")
    if (chunk := answer["chunk"]) is None:
        return
    place = passage_text.place(chunk)
    place.append(f"chunk {chunk['chunk_id']}", style="dim not bold")
    options.out.print(place)
    legs = options.table("leg", "rank", "candidates", "score", "entry score")
    for leg in answer["legs"]:
        rank = "–" if leg["rank"] is None else f"{leg['rank']}" if leg["exact"] else f"≥ {leg['rank']}"
        legs.add_row(leg["leg"], rank, str(leg["candidates"]), _number(leg["score"]), _number(leg["entry_score"]))
    options.print_table(legs)
    for step in answer["steps"]:
        mark = "[green]✓[/]" if step["passed"] else "[red]✗[/]"
        options.out.print(f"{mark} {step['step'].replace('_', ' ')}: {escape(step['detail'])}")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
