"""Implements `stepwell why`: shows where a passage stands in a search and what keeps it out of the answer."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape

from app import runtime
from app.api.search.placement_models import PlacementAnswer
from app.cli import options
from app.cli.search import configured, filter_option, recency_option
from app.config import Settings
from app.pipelines.running.services import Services
from app.pipelines.why import why as pipeline
from app.shapes import PassageKey, Placement, Query, limits, uris


def why(
    query: Annotated[str, typer.Argument(help="The query of the search.")],
    passage: Annotated[str, typer.Argument(help="URI of a document, or the id of a document or chunk.")],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of hits.")] = 5,
    mode: options.Legs = options.Mode.auto,
    rerank: options.Reranking = options.Rerank.none,
    mmr: options.Mmr = False,
    recency: recency_option.RecencyText = None,
    collapse: options.Collapse = False,
    hierarchy: options.Hierarchy = True,
    hierarchy_alpha: options.HierarchyAlpha = None,
    filters: filter_option.FiltersJson = None,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Show where a passage stands in a search, what keeps it out of the answer and what would bring it in.

    A query that begins with - follows --: stepwell why -- '-cement lime' notes/lime.md.
    """
    request = Query(
        options.checked_user(user),
        options.checked_query(query),
        limit=limit,
        mode=mode.value,
        filters=filter_option.read(filters),
        rerank=rerank.value,
        mmr=mmr,
        recency=recency_option.read(recency),
        collapse=collapse,
    )
    settings = options.settings(data_dir)
    options.check_rerank(rerank, settings)
    placement = options.run(_explained(request, passage, settings, hierarchy, hierarchy_alpha))
    answer = PlacementAnswer.of(placement)
    if as_json:
        typer.echo(answer.model_dump_json())
    else:
        show(answer)


async def _explained(query: Query, passage: str, settings: Settings, hierarchy: bool, alpha: float | None) -> Placement:
    async with runtime.open_services(settings, pool_size=2) as services:
        return await _of_passage(configured.query(query, services, guided=hierarchy, alpha=alpha), passage, services)


async def _of_passage(query: Query, passage: str, services: Services) -> Placement:
    """The explanation of the document with this URI or path, else of the chunk or document with this id."""
    path = PassageKey(uri=options.absolute_path(passage))
    others = [path] if (found := _id(passage)) is None else [PassageKey(chunk_id=found), PassageKey(document_id=found)]
    for key in (*others, PassageKey(uri=passage)):
        placement = await pipeline.run(pipeline.WhyQuery(query, key), services)
        if placement.verdict != "not_found":
            break
    return placement


def _id(passage: str) -> UUID | None:
    try:
        return UUID(passage)
    except ValueError:
        return None


def show(answer: PlacementAnswer) -> None:
    """Prints the verdict with its reason, then the legs and the steps."""
    options.out.print(f"[bold]{answer.verdict.replace('_', ' ')}[/]: {escape(answer.summary)}")
    if answer.chunk is None:
        return
    chunk = answer.chunk
    place = " › ".join(part for part in (chunk.title or uris.shown(chunk.uri or ""), *chunk.heading_path) if part)
    options.out.print(f"[dim]{escape(place)}, chunk {chunk.chunk_id}[/]")
    legs = options.table("leg", "rank", "candidates", "score", "entry score")
    for leg in answer.legs:
        rank = "–" if leg.rank is None else f"{leg.rank}" if leg.exact else f"≥ {leg.rank}"
        legs.add_row(leg.leg, rank, str(leg.candidates), _number(leg.score), _number(leg.entry_score))
    options.print_table(legs)
    for step in answer.steps:
        mark = "[green]✓[/]" if step.passed else "[red]✗[/]"
        options.out.print(f"{mark} {step.step.replace('_', ' ')}: {escape(step.detail)}")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
