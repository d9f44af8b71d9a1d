"""Defines the option `--recency` of the commands that search."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import TypeAdapter

from app.api.search import search_models
from app.api.search.search_models import RecencyOptions
from app.cli.search import json_option
from app.shapes import Recency

RecencyText = Annotated[
    str | None,
    typer.Option(
        "--recency",
        metavar="DAYS|auto|JSON",
        help="Raise newer documents: the half-life in days, auto for queries that ask for the newest, or the options "
        'as in the API: \'{"half_life_days": 30, "weight": 0.2, "field": "date"}\'.',
    ),
]


def read(given: str | None) -> Recency | None:
    """How the search weighs the age of documents. Raises BadRequest with the path of the first wrong value."""
    if given is None or given == "auto":
        return search_models.recency_of("auto") if given else None
    written = given if given.lstrip().startswith("{") else f'{{"half_life_days": {given}}}'
    return json_option.read(written, TypeAdapter(RecencyOptions), field="recency").shape()
