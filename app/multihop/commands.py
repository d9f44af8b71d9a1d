"""Implements `stepwell multihop`: searches over several hops and prints how each hit was reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Group
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from app import limits
from app.cli import client_options, json_arguments, options, terminal
from app.cli.client import Answer, Client
from app.query import hop_signal_weights
from app.search import commands as plain


@client_options.connect
def multihop(
    client: Client,
    query: Annotated[str, typer.Argument(help="The question.")],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_MULTIHOP_HITS, help="Maximum number of hits.")] = 5,
    max_hops: Annotated[
        int, typer.Option(min=limits.MIN_HOPS, max=limits.MAX_HOPS, help="Maximum number of hops.")
    ] = 2,
    rerank: options.Rerank = "none",
    mmr: options.Mmr = False,
    recency: plain.Recency = None,
    collapse: options.Collapse = True,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy/--no-hierarchy", help="Use the entities that the question names, in hop 1.")
    ] = False,
    filters: json_arguments.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Search over several hops, and show the terms of each hop and the name that led to each hit."""
    request = plain.build(
        query, limit=limit, filters=filters, collapse=collapse, recency=recency, rerank=rerank, mmr=mmr,
        hierarchy="auto" if hierarchy else None, hops={"max_hops": max_hops},
    )  # fmt: skip
    answer = client.post("/search/multihop", {**request, "detail": "full" if as_json else "compact"})
    terminal.end_with_json(answer, wanted=as_json)
    terminal.out.print(chain(answer))


def chain(answer: Answer) -> Tree:
    """Returns the hops of a compact answer as a tree, each with its terms and its hits in the final order."""
    first = answer["hops"][0]
    tree = Tree(f"[bold]{escape(first['query'])}[/]")
    places = {hit["chunk_id"]: place for place, hit in enumerate(answer["results"], 1)}
    for hop in answer["hops"]:
        branch = tree.add(_headline(hop))
        for hit in answer["results"]:
            if hit["hop"] == hop["hop"]:
                branch.add(_hit(hit, places))
    for line in () if answer["results"] else plain.nothing(answer):
        tree.add(escape(line))
    for warning in plain.warnings(answer):
        tree.add(warning)
    return tree


def _headline(hop: Answer) -> str:
    headline = f"hop {hop['hop']}: {terminal.format_count(hop['result_count'], 'passage')}"
    if terms := hop.get("expanded_terms"):
        headline += f", searched for {', '.join(map(escape, terms))}"
    if questions := hop.get("questions"):
        headline += f", asked {' '.join(map(escape, questions))}"
    return headline + (f" [yellow]({error})[/]" if (error := hop.get("error")) else "")


def _hit(hit: Answer, places: Mapping[str, int]) -> Group:
    title, *_ = (*plain.headings_of(hit), "")
    named = f" [bold]{escape(title)}[/]" if title else ""
    headline = Text.from_markup(f"{places[hit['chunk_id']]}.{named} {plain.relevance_of(hit)}")
    if (uri := plain.uri_of(hit)) and uri != title:
        headline.append(f"\n{uri}", style="dim")
    if via := hit.get("via"):
        headline.append(f"\nfound through {via['name']} ({_label(via)}){_source(via, places)}", style="cyan")
    return Group(headline, plain.sentences_of(hit))


def _source(via: Answer, places: Mapping[str, int]) -> str:
    """The passage where a link starts, if it is in the answer."""
    place = places.get(via.get("source_chunk_id", ""))
    return "" if place is None else f", which passage {place} names"


def _label(via: Answer) -> str:
    """The label of a link for people."""
    signal = hop_signal_weights.LINKS.get(via["kind"])
    return str(via["kind"]) if signal is None else signal.label
