"""Implements `stepwell multihop`: searches over several hops and prints how each hit was reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Group
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from app import runtime
from app.api.multihop.multihop_models import MultihopResponse
from app.cli import options
from app.cli.search import configured, filter_option, passage_text, recency_option
from app.cli.search.evaluate import Extractor, Merge
from app.cli.search.search import NO_ANSWER
from app.config import Settings
from app.pipelines.multihop import multihop as pipeline
from app.pipelines.running.services import Services
from app.shapes import Answer, Hit, Hop, Query, answerability, limits, uris

SNIPPET = 160


def multihop(
    query: Annotated[str, typer.Argument(help="The question.")],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_MULTIHOP_HITS, help="Maximum number of hits.")] = 5,
    max_hops: Annotated[
        int, typer.Option(min=limits.MIN_HOPS, max=limits.MAX_HOPS, help="Maximum number of hops.")
    ] = 2,
    extractor: Annotated[Extractor, typer.Option(help="Source of the terms for a further hop.")] = Extractor.auto,
    merge: Annotated[Merge, typer.Option(help="Strategy for merging the hits of several hops.")] = Merge.linked,
    snippets: options.Snippets = False,
    rerank: options.Reranking = options.Rerank.none,
    mmr: options.Mmr = False,
    recency: recency_option.RecencyText = None,
    collapse: options.Collapse = False,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the question names, in hop 1.")
    ] = False,
    filters: filter_option.FiltersJson = None,
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Search over several hops and show the terms of each hop and the name through which each hit was found."""
    request = Query(
        options.checked_user(user),
        options.checked_query(query),
        limit=limit,
        filters=filter_option.read(filters),
        snippets=snippets,
        rerank=rerank.value,
        mmr=mmr,
        recency=recency_option.read(recency),
        collapse=collapse,
    )
    question = pipeline.MultihopQuery(request, max_hops, extractor.value, merge.value)
    settings = options.settings(data_dir)
    options.check_rerank(rerank, settings)
    answer = options.run(_ask(question, settings, guided=hierarchy))
    if as_json:
        typer.echo(MultihopResponse.of(answer).model_dump_json())
    else:
        options.out.print(chain(answer))


async def _ask(question: pipeline.MultihopQuery, settings: Settings, *, guided: bool) -> Answer:
    async with runtime.open_services(settings, pool_size=2) as services:
        query = configured.query(question.query, services, guided=guided)
        if not guided:
            query = replace(query, guidance=query.guidance.off)
        return await ask(replace(question, query=query), services)


async def ask(question: pipeline.MultihopQuery, services: Services) -> Answer:
    """Runs one multi-hop query."""
    return await pipeline.run(question, services)


def chain(answer: Answer) -> Tree:
    """Returns the hops of an answer as a tree, each with its terms and its hits in the final order."""
    first, *later = answer.hops or (Hop(1, "", 0),)
    tree = Tree(f"[bold]{escape(first.query)}[/]")
    for hop in (first, *later):
        branch = tree.add(_headline(hop))
        for place, hit in enumerate(answer.hits, 1):
            if hit.hop == hop.hop:
                branch.add(_line(place, hit, first.query))
    if not answer.hits:
        tree.add(f"Nothing found ({answer.fallback_reason}).")
    if answer.hits and answerability.is_unlikely(answer.answerable):
        tree.add(f"[yellow]{NO_ANSWER}[/] ({answer.answerable:.0%}): the passages are the nearest ones.")
    for note in (*(f"degraded: {code}" for code in answer.degraded), *(f"relaxed: {name}" for name in answer.relaxed)):
        tree.add(f"[yellow]{note}[/]")
    return tree


def _headline(hop: Hop) -> str:
    headline = f"hop {hop.hop}: {hop.result_count} chunks"
    if hop.terms:
        headline += f", {hop.term_method} terms: {', '.join(map(escape, hop.terms))}"
    if hop.questions:
        headline += f", questions: {' '.join(map(escape, hop.questions))}"
    return headline + (f" [yellow]({hop.error})[/]" if hop.error else "")


def _line(place: int, hit: Hit, query: str) -> Group:
    found = hit.candidate
    via = f" [cyan]via {escape(hit.via.name)} ({hit.via.label})[/]" if hit.via else ""
    title = escape(found.title or uris.shown(found.uri or ""))
    headline = f"{place}. [bold]{title}[/] {found.score:.3f}, hop {hit.hop}{via}"
    passage = passage_text.shown(hit, query, length=SNIPPET).append_text(passage_text.duplicates(hit))
    return Group(Text.from_markup(headline), passage)
