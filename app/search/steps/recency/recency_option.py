"""Defines the option `--recency` of the commands that search."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.cli import json_option

RecencyText = Annotated[
    str | None,
    typer.Option(
        "--recency",
        metavar="DAYS|auto|JSON",
        help="Raise newer documents: the half-life in days, auto for queries that ask for the newest, or the options "
        'as in the API: \'{"half_life_days": 30, "weight": 0.2, "field": "date"}\'.',
    ),
]


def read(given: str | None) -> Any:
    """How the search weighs the age of documents, which the backend checks. Raises BadRequest for invalid JSON."""
    if given is None or given == "auto":
        return given
    written = given if given.lstrip().startswith("{") else f'{{"half_life_days": {given}}}'
    return json_option.read(written, field="recency")
