"""Builds the request of a search from the options that its commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.cli import json_option
from app.cli.client import Answer

Recency = Annotated[
    str | None,
    typer.Option(
        "--recency",
        metavar="DAYS|auto|JSON",
        help="Raise newer documents: the half-life in days, auto for queries that ask for the newest, or the options "
        'as in the API: \'{"half_life_days": 30, "weight": 0.2, "field": "date"}\'.',
    ),
]


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
    """The request with what the options of a command say; options that are None keep the service's default."""
    tuned = {**ranking, "recency": _read_recency(recency)}
    fields = {
        "query": query,
        "limit": limit,
        "mode": mode,
        "filters": json_option.filters(filters),
        "collapse": None if collapse else "off",
        "ranking": _given(tuned) or None,
    }
    return _given(fields)


def _read_recency(given: str | None) -> Any:
    """How the search weighs the age of documents, which the backend checks. Raises BadRequest for invalid JSON."""
    if given is None or given == "auto":
        return given
    written = given if given.lstrip().startswith("{") else f'{{"half_life_days": {given}}}'
    return json_option.read(written, field="recency")


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
