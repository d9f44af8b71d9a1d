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
    collapse: options.Collapse = False,
    hierarchy: options.Hierarchy = True,
    hierarchy_alpha: options.HierarchyAlpha = None,
    filters: json_option.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Search the documents and show the passages with their scores.

    A query that begins with - follows --: stepwell search -- '-cement lime'.
    """
    request = request_of(
        query, limit=limit, mode=mode.value, rerank=rerank.value, mmr=mmr, recency=recency, collapse=collapse,
        hierarchy="auto" if hierarchy else "off", alpha=hierarchy_alpha, filters=filters,
    )  # fmt: skip
    answer = backend.search({**request, "explain": explain, "snippets": snippets})
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        show(answer, query)


def request_of(query: str, *, recency: str | None, filters: str | None, collapse: bool, **fields: Any) -> Answer:
    """The request of a search with the options of a command, without those that are not given."""
    given = {
        "recency": recency_option.read(recency),
        "filters": json_option.filters(filters),
        "collapse": "duplicates" if collapse else None,
        **fields,
    }
    return {"query": query, **{name: value for name, value in given.items() if value is not None}}


def show(answer: Answer, query: str) -> None:
    """Prints an answer as a table with the words of the query highlighted."""
    if not answer["results"]:
        options.out.print(f"Nothing found ({answer['fallback_reason']}).")
        for hint in answer.get("hints", ()):
            options.out.print(escape(hint), soft_wrap=True)
        return
    table = Table(title=escape(query), title_justify="left", expand=True, show_lines=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("passage", ratio=1, overflow="fold")
    for place, hit in enumerate(answer["results"], 1):
        table.add_row(str(place), _scores(hit), _passage(hit, query))
    options.out.print(table)
    if answerability.is_unlikely(answer["answerable"]):
        options.out.print(f"[yellow]{NO_ANSWER}[/] ({answer['answerable']:.0%}): the passages are the nearest ones.")
    options.out.print(f"[dim]{escape(', '.join(_notes(answer)))}[/]")


def _notes(answer: Answer) -> list[str]:
    """What is worth knowing of an answer as a whole."""
    notes = [f"{answer['query_type']} query", f"{answer['fusion']} fusion", f"{answer['took_ms']:.0f} ms"]
    notes += [f"degraded: {code}" for code in answer["degraded"]] + [f"relaxed: {name}" for name in answer["relaxed"]]
    if answer["pass1_entities"]:
        named = ", ".join(
            f"{match['name']} ({', '.join((match['role'] or match['type'], *match['teams']))}, {match['score']:.2f})"
            for match in answer["pass1_entities"]
        )
        notes.append(f"{answer['search_mode'].replace('_', '-')} search; entities: {named}")
    return notes


def _scores(hit: Answer) -> Text:
    lines = [f"{hit['score']:.3f}", hit["confidence"].replace("_", " ")]
    vector_rank = "" if hit["vector_rank"] is None else f" (#{hit['vector_rank']})"
    lines += [f"vector {hit['vector_score']:.2f}{vector_rank}"] if hit["vector_score"] is not None else []
    lines += [f"text {hit['text_score']:.1f} (#{hit['text_rank']})"] if hit["text_score"] is not None else []
    lines += [f"entity {hit['parent']['parent_entity_score']:.2f}"] if _has_parent(hit) else []
    lines += [f"boost ×{hit['boost']['factor']:.1f}"] if hit["boost"] else []
    return Text("\n".join(lines))


def _has_parent(hit: Answer) -> bool:
    return bool(hit["parent"] and hit["parent"]["parent_entity_score"])


def _passage(hit: Answer, query: str) -> Text | Group:
    shown = passage_text.place(hit)
    shown.append_text(passage_text.shown(hit, query, length=SNIPPET))
    shown.append_text(passage_text.duplicates(hit))
    return shown if hit["explain"] is None else Group(shown, score_tree.of(hit["explain"]))
