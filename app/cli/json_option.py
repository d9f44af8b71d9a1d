"""Reads the JSON of an option."""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn

import typer

from app.errors import BadRequest

FiltersJson = Annotated[
    str | None,
    typer.Option(
        "--filters",
        metavar="JSON",
        help='Conditions on the documents, as in the API: \'{"metadata": {"team": "tide"}}\'.',
    ),
]


def read(given: str, *, field: str) -> Any:
    """The value of an option. Raises BadRequest with the place of a mistake."""

    def refuse(_constant: str) -> NoReturn:
        raise BadRequest("Must have finite numbers only.", field=field)

    try:
        return json.loads(given, parse_constant=refuse)
    except json.JSONDecodeError as error:
        reason = error.msg.partition(":")[0]
        message = f"The option is not valid JSON at line {error.lineno}, column {error.colno}: {reason}."
        raise BadRequest(message, field=field) from None
    except (ValueError, RecursionError):
        raise BadRequest("The option has a number that is too long, or too many levels.", field=field) from None


def filters(given: str | None) -> dict[str, Any] | None:
    """The filters of the option, which the backend checks. Raises BadRequest for another value than an object."""
    if given is None:
        return None
    value = read(given, field="filters")
    if not isinstance(value, dict):
        raise BadRequest("Must be a JSON object.", field="filters")
    return value
