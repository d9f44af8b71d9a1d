"""Implements `stepwell search`: prints ranked passages as a table or as JSON. Other commands build requests with it."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from app import errors, limits
from app.cli import client_options, json_arguments, options, terminal
from app.cli.client import Answer, Client
from app.query import answer_hints
from app.relevance import answerable_levels
from app.text import uris

_BREAKS = re.compile(r"[\r\t]|\n(?:[ \t\r]*\n)*")
Recency = Annotated[
    str | None,
    typer.Option(
        "--recency",
        metavar="DAYS|auto|JSON",
        help="Raise newer documents: the half-life in days, auto for queries that ask for the newest, or the options "
        'as in the API: \'{"half_life_days": 30, "weight": 0.2, "field": "date"}\'.',
    ),
]


@client_options.connect
def search(
    client: Client,
    query: Annotated[
        str,
        typer.Argument(
            help='The query; "phrase", +required, -excluded, AND, OR, NOT, (groups), prefix* and title:word count.'
        ),
    ],
    limit: Annotated[int, typer.Option(min=1, max=limits.MAX_HITS, help="Maximum number of hits.")] = 5,
    mode: options.Mode = "auto",
    explain: Annotated[bool, typer.Option("--explain", help="With --json: how each score was made.")] = False,
    rerank: options.Rerank = "none",
    mmr: options.Mmr = False,
    recency: Recency = None,
    collapse: options.Collapse = True,
    hierarchy: options.Hierarchy = True,
    filters: json_arguments.FiltersJson = None,
    as_json: options.AsJson = False,
) -> None:
    """Search the documents and show of each passage the sentences that match best, and how likely it is relevant.

    With --json the passages are whole. A query that begins with - follows --: stepwell search -- '-cement lime'.
    """
    if explain and not as_json:
        raise errors.BadRequest("A terminal does not show how scores were made: add --json.", field="--explain")
    request = build(
        query, limit=limit, mode=mode, filters=filters, collapse=collapse, recency=recency, rerank=rerank,
        mmr=mmr, hierarchy=None if hierarchy else "off",
    )  # fmt: skip
    answer = client.post("/search", {**request, "explain": explain, "detail": "full" if as_json else "compact"})
    terminal.end_with_json(answer, wanted=as_json)
    show(answer, query)


def show(answer: Answer, query: str) -> None:
    """Prints a compact answer as a table, with matches highlighted."""
    if not answer["results"]:
        for line in nothing(answer):
            terminal.out.print(escape(line), soft_wrap=True)
        return
    table = Table(title=escape(query), title_justify="left", expand=True, show_lines=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("relevance", justify="right", no_wrap=True)
    table.add_column("passage", ratio=1, overflow="fold")
    for place, hit in enumerate(answer["results"], 1):
        table.add_row(str(place), relevance_of(hit), place_of(hit).append_text(sentences_of(hit)))
    terminal.out.print(table)
    for warning in warnings(answer):
        terminal.out.print(warning)
    terminal.out.print(f"[dim]{answer['took_ms']:.0f} ms[/]")


def uri_of(hit: Answer) -> str:
    """The URI or path of a hit's document as people write it."""
    return uris.show(hit["uri"] or "")


def headings_of(hit: Answer) -> list[str]:
    """The title of a hit's document and the headings above the passage, each once."""
    return list(dict.fromkeys(part for part in (hit["title"] or uri_of(hit), *hit["heading_path"]) if part))


def place_of(hit: Answer) -> Text:
    """Returns the title and the headings of a hit, and on a second line the URI of its document."""
    names, path = headings_of(hit), uri_of(hit)
    shown = Text(" › ".join(names) + "\n" if names else "", style="bold")
    if path and path not in names:
        shown.append(f"{path}\n", style="dim not bold")
    return shown


def relevance_of(hit: Answer) -> str:
    """The relevance of a hit, or its score if it has no relevance."""
    return f"{hit['score']:.3f}" if hit["relevance"] is None else f"{hit['relevance']:.2f}"


def sentences_of(hit: Answer) -> Text:
    """Returns the snippet of a hit without blank lines."""
    snippet = hit["snippet"]
    text = Text(_BREAKS.sub(_break, snippet["text"]), style="not bold")
    for start, end in snippet["matches"]:
        text.stylize("bold yellow", start, end)
    return text


def _break(found: re.Match[str]) -> str:
    """Keeps the number of characters, so that offsets stay valid. Blank lines become spaces before a line break."""
    return " " * (len(found[0]) - 1) + ("\n" if "\n" in found[0] else " ")


def nothing(answer: Answer) -> list[str]:
    """The lines to print for an answer without results."""
    return ["Nothing found.", *answer.get("hints", ())]


def warnings(answer: Answer) -> list[str]:
    """The warnings, as markup, for an answer whose passages may not fit the query."""
    sentences = {**answer_hints.DEGRADED, **answer_hints.RELAXED}
    codes = [code for name in ("degraded", "relaxed") for code in answer.get(name, ())]
    said = [f"[yellow]{escape(sentences.get(code, code))}[/]" for code in codes]
    if answer["results"] and answerable_levels.is_unlikely(answer["answerable"]):
        score = f"{answer['answerable']:.2f}"
        said.insert(0, f"[yellow]No answer likely[/] ({score}): the passages are the nearest ones.")
    return said


def build(
    query: str,
    *,
    limit: int,
    filters: str | None,
    collapse: bool,
    recency: str | None,
    mode: str | None = None,
    **ranking: Any,
) -> Answer:
    """Builds a request from the options of a command. An option that is None keeps the service's default."""
    tuned = {**ranking, "recency": _read_recency(recency)}
    fields = {
        "query": query,
        "limit": limit,
        "mode": mode,
        "filters": json_arguments.filters(filters),
        "collapse": None if collapse else "off",
        "ranking": _given(tuned) or None,
    }
    return _given(fields)


def _read_recency(given: str | None) -> Any:
    """Reads how the search weighs the age of documents; the service checks it. Raises BadRequest."""
    if given is None or given == "auto":
        return given
    if given.lstrip().startswith("{"):
        return json_arguments.read(given, field="recency")
    with suppress(ValueError):
        if math.isfinite(days := float(given)):
            return {"half_life_days": days}
    raise errors.BadRequest("Give a number of days, auto, or options as JSON.", field="recency")


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
