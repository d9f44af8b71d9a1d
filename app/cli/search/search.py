"""Implements `stepwell search`: prints ranked passages as a table or as JSON."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from app import runtime
from app.api.search.search_responses import SearchResponse
from app.cli import options
from app.cli.search import configured, filter_option, passage_text, recency_option, score_tree
from app.config import Settings
from app.pipelines.running.services import Services
from app.pipelines.search import search as pipeline
from app.shapes import Answer, Hit, Query, answerability, limits, uris

SNIPPET = 320
NO_ANSWER = "No answer likely"


def search(
    query: Annotated[
        str,
        typer.Argument(
            help='The query; "phrase", +required, -excluded, AND, OR, NOT, (groups), prefix* and title:word count.'
        ),
    ],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of hits.")] = 5,
    mode: options.Legs = options.Mode.auto,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score was made, as a tree.")] = False,
    snippets: options.Snippets = False,
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
    """Search the documents and show the passages with their scores.

    A query that begins with - follows --: stepwell search -- '-cement lime'.
    """
    request = Query(
        options.checked_user(user),
        options.checked_query(query),
        limit=limit,
        mode=mode.value,
        filters=filter_option.read(filters),
        explain=explain,
        snippets=snippets,
        rerank=rerank.value,
        mmr=mmr,
        recency=recency_option.read(recency),
        collapse=collapse,
    )
    settings = options.settings(data_dir)
    options.check_rerank(rerank, settings)
    answer = options.run(_search(request, settings, hierarchy, hierarchy_alpha))
    if as_json:
        typer.echo(SearchResponse.of(answer).model_dump_json())
    else:
        show(answer, query)


async def _search(query: Query, settings: Settings, hierarchy: bool, alpha: float | None) -> Answer:
    async with runtime.open_services(settings, pool_size=2) as services:
        return await ask(configured.query(query, services, guided=hierarchy, alpha=alpha), services)


async def ask(query: Query, services: Services) -> Answer:
    """Runs one query."""
    return await pipeline.run(query, services)


def show(answer: Answer, query: str) -> None:
    """Prints an answer as a table with the words of the query highlighted."""
    if not answer.hits:
        options.out.print(f"Nothing found ({answer.fallback_reason}).")
        return
    table = Table(title=escape(query), title_justify="left", expand=True, show_lines=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("passage", ratio=1)
    for place, hit in enumerate(answer.hits, 1):
        table.add_row(str(place), _scores(hit), _passage(hit, query))
    options.out.print(table)
    if answerability.is_unlikely(answer.answerable):
        options.out.print(f"[yellow]{NO_ANSWER}[/] ({answer.answerable:.0%}): the passages are the nearest ones.")
    notes = [f"{answer.query_type} query", f"{answer.fusion} fusion", f"{answer.timings.get('total', 0):.0f} ms"]
    notes += [f"degraded: {code}" for code in answer.degraded] + [f"relaxed: {name}" for name in answer.relaxed]
    if answer.entities:
        named = ", ".join(
            f"{match.name} ({', '.join((match.role or match.type, *match.teams))}, {match.score:.2f})"
            for match in answer.entities
        )
        notes.append(f"{answer.search_mode.replace('_', '-')} search; entities: {named}")
    options.out.print(f"[dim]{escape(', '.join(notes))}[/]")


def _scores(hit: Hit) -> Text:
    found = hit.candidate
    lines = [f"{found.score:.3f}", hit.confidence.replace("_", " ")]
    vector_rank = "" if found.vector_rank is None else f" (#{found.vector_rank})"
    lines += [f"vector {found.vector_score:.2f}{vector_rank}"] if found.vector_score is not None else []
    lines += [f"text {found.text_score:.1f} (#{found.text_rank})"] if found.text_score is not None else []
    lines += [f"entity {hit.guidance.score:.2f}"] if hit.guidance and hit.guidance.score else []
    lines += [f"boost ×{hit.boost.factor:.1f}"] if hit.boost else []
    return Text("\n".join(lines))


def _passage(hit: Hit, query: str) -> Text | Group:
    found = hit.candidate
    place = " › ".join(part for part in (found.title or uris.shown(found.uri or ""), *found.heading_path) if part)
    shown = Text(place + "\n", style="bold")
    shown.append_text(passage_text.shown(hit, query, length=SNIPPET))
    shown.append_text(passage_text.duplicates(hit))
    return shown if hit.explain is None else Group(shown, score_tree.of(hit.explain))
