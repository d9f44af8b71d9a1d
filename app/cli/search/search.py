"""Implements `stepwell search`: prints ranked passages as a table or as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from app.cli import options
from app.cli.backends import connecting
from app.cli.backends.backend import Answer, Backend
from app.cli.search import json_option, passage_text, recency_option, score_tree
from app.shapes import answerability, limits

SNIPPET = 320
NO_ANSWER = "No answer likely"


@connecting.connected
def search(
    backend: Backend,
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
    hierarchy: options.Hierarchy = True,
    hierarchy_alpha: options.HierarchyAlpha = None,
    filters: json_option.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Search the documents and show the passages with their scores.

    A query that begins with - follows --: stepwell search -- '-cement lime'.
    """
    request = request_of(
        query, limit=limit, mode=mode.value, rerank=rerank.value, mmr=mmr, recency=recency,
        hierarchy="auto" if hierarchy else "off", alpha=hierarchy_alpha, filters=filters,
    )  # fmt: skip
    answer = backend.search({**request, "explain": explain or not as_json, "detail": _detail(snippets)})
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        show(answer, query, explain=explain)


def _detail(snippets: bool) -> str:
    return "compact" if snippets else "full"


def request_of(query: str, *, limit: int, filters: str | None, mode: str = "auto", **tuning: Any) -> Answer:
    """The request of a search with the options of a command, without those that are not given."""
    tuning["recency"] = recency_option.read(tuning.get("recency"))
    ranking = {name: value for name, value in tuning.items() if value is not None}
    given = {"limit": limit, "mode": mode, "filters": json_option.filters(filters), "ranking": ranking}
    return {"query": query, **{name: value for name, value in given.items() if value is not None}}


def show(answer: Answer, query: str, *, explain: bool = False) -> None:
    """Prints an answer as a table with the words of the query highlighted."""
    if not answer["results"]:
        options.out.print("Nothing found.")
        for hint in answer.get("hints", ()):
            options.out.print(escape(hint), soft_wrap=True)
        return
    table = Table(title=escape(query), title_justify="left", expand=True, show_lines=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("passage", ratio=1, overflow="fold")
    for place, hit in enumerate(answer["results"], 1):
        table.add_row(str(place), _scores(hit), _passage(hit, query, explain=explain))
    options.out.print(table)
    if answerability.is_unlikely(answer["answerable"]):
        options.out.print(f"[yellow]{NO_ANSWER}[/] ({answer['answerable']:.0%}): the passages are the nearest ones.")
    options.out.print(f"[dim]{escape(', '.join(_notes(answer)))}[/]")


def _notes(answer: Answer) -> list[str]:
    """What is worth knowing of an answer as a whole."""
    read = answer["explain"]
    notes = [f"{read['query_type']} query", f"{read['fusion']} fusion", f"{answer['took_ms']:.0f} ms"]
    notes += [f"degraded: {code}" for code in answer.get("degraded", ())]
    notes += [f"relaxed: {name}" for name in answer.get("relaxed", ())]
    if entities := read.get("entities", {}).get("pass1"):
        named = ", ".join(f"{match['name']} ({match['type']}, {match['score']:.2f})" for match in entities)
        notes.append(f"{read['search_mode'].replace('_', '-')} search; entities: {named}")
    return notes


def _scores(hit: Answer) -> Text:
    made = hit["explain"]
    lines = [f"{hit['score']:.3f}", hit["confidence"].replace("_", " ")]
    vector_rank = "" if made["vector_rank"] is None else f" (#{made['vector_rank']})"
    lines += [f"vector {hit['vector_score']:.2f}{vector_rank}"] if hit["vector_score"] is not None else []
    lines += [f"text {hit['text_score']:.1f} (#{made['text_rank']})"] if hit["text_score"] is not None else []
    parent = made.get("parent", {}).get("parent_entity_score")
    lines += [f"entity {parent:.2f}"] if parent else []
    lines += [f"boost ×{made['boost']['factor']:.1f}"] if "boost" in made else []
    return Text("\n".join(lines))


def _passage(hit: Answer, query: str, *, explain: bool) -> Text | Group:
    shown = passage_text.place(hit)
    shown.append_text(passage_text.shown(hit, query, length=SNIPPET))
    shown.append_text(passage_text.duplicates(hit["explain"]))
    return Group(shown, score_tree.of(hit["explain"])) if explain else shown
