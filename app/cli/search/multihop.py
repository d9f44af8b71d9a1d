"""Implements `stepwell multihop`: searches over several hops and prints how each hit was reached."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Group
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from app.cli import options
from app.cli.backends import connecting
from app.cli.backends.backend import Answer, Backend
from app.cli.search import json_option, passage_text, recency_option
from app.cli.search.search import NO_ANSWER, request_of
from app.shapes import answerability, limits, signals

SNIPPET = 160


class Extractor(StrEnum):
    """Sources of the terms for a further hop."""

    auto = "auto"
    llm = "llm"
    entities = "entities"
    statistical = "statistical"
    none = "none"


class Merge(StrEnum):
    """Strategies for merging the hits of several hops."""

    linked = "linked"
    classic = "classic"


@connecting.connected
def multihop(
    backend: Backend,
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
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the question names, in hop 1.")
    ] = False,
    filters: json_option.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Search over several hops and show the terms of each hop and the name through which each hit was found."""
    request = request_of(
        query, limit=limit, hops={"max_hops": max_hops, "extractor": extractor.value, "merge": merge.value},
        rerank=rerank.value, mmr=mmr, recency=recency, hierarchy="auto" if hierarchy else "off", filters=filters,
    )  # fmt: skip
    answer = backend.search_multihop({**request, "detail": "compact" if snippets else "full"})
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        options.out.print(chain(answer))


def chain(answer: Answer) -> Tree:
    """Returns the hops of an answer as a tree, each with its terms and its hits in the final order."""
    first, *later = answer["hops"] or [{"hop": 1, "query": "", "result_count": 0}]
    tree = Tree(f"[bold]{escape(first['query'])}[/]")
    for hop in (first, *later):
        branch = tree.add(_headline(hop))
        for place, hit in enumerate(answer["results"], 1):
            if hit["hop"] == hop["hop"]:
                branch.add(_line(place, hit, first["query"]))
    if not answer["results"]:
        tree.add(" ".join(("Nothing found.", *map(escape, answer.get("hints", ())))))
    if answer["results"] and answerability.is_unlikely(answer["answerable"]):
        tree.add(f"[yellow]{NO_ANSWER}[/] ({answer['answerable']:.0%}): the passages are the nearest ones.")
    notes = [f"degraded: {code}" for code in answer.get("degraded", ())]
    notes += [f"relaxed: {name}" for name in answer.get("relaxed", ())]
    for note in notes:
        tree.add(f"[yellow]{note}[/]")
    return tree


def _headline(hop: Answer) -> str:
    headline = f"hop {hop['hop']}: {hop['result_count']} chunks"
    if terms := hop.get("expanded_terms"):
        headline += f", {hop['extractor']} terms: {', '.join(map(escape, terms))}"
    if questions := hop.get("questions"):
        headline += f", questions: {' '.join(map(escape, questions))}"
    return headline + (f" [yellow]({error})[/]" if (error := hop.get("error")) else "")


def _line(place: int, hit: Answer, query: str) -> Group:
    via = hit.get("via")
    through = f" [cyan]via {escape(via['name'])} ({_label(via)})[/]" if via else ""
    title, *_ = (*passage_text.headings(hit), "")
    headline = Text.from_markup(f"{place}. [bold]{escape(title)}[/] {hit['score']:.3f}, hop {hit['hop']}{through}")
    if (uri := passage_text.uri(hit)) and uri != title:
        headline.append(f"\n{uri}", style="dim")
    passage = passage_text.shown(hit, query, length=SNIPPET)
    return Group(headline, passage)


def _label(via: Answer) -> str:
    """What the name of a link is, for people."""
    if (signal := signals.LINKS.get(via["kind"])) is None:
        return str(via["kind"])
    return signal.label
