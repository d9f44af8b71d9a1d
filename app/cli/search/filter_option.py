"""Defines the option `--filters` of the commands that search."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import ValidationError

from app.api.contract import validation_errors
from app.api.contract.filter_models import SearchFilters
from app.errors import BadRequest
from app.shapes import Filters

FiltersJson = Annotated[
    str | None,
    typer.Option(
        "--filters",
        metavar="JSON",
        help='Conditions on the documents, as in the API: \'{"metadata": {"team": "tide"}}\'.',
    ),
]


def read(given: str | None) -> Filters:
    """The filters of the option. Raises BadRequest with the path of the first wrong value."""
    if given is None:
        return Filters()
    from fastapi.exceptions import RequestValidationError  # takes longer to import than the command needs otherwise

    from app.api.bodies import strict_json

    try:
        parsed = strict_json.parse(given.encode(errors="surrogateescape"))
    except RequestValidationError as error:
        raise _bad_request(list(error.errors()), None) from None
    try:
        return SearchFilters.model_validate(parsed).shape()
    except ValidationError as error:
        located = [{**found, "loc": ("body", *found["loc"])} for found in error.errors()]
        raise _bad_request(located, parsed) from None


def _bad_request(found: list[Any], parsed: object) -> BadRequest:
    first = validation_errors.read(found, parsed)[0]
    path = "" if first.field == "body" else f".{first.field}"
    return BadRequest(first.message, field=f"filters{path}")
