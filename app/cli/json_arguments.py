"""Reads options whose value is JSON, such as `--filters`.

The service checks the filters of commands that call it; in other commands `parse` does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from app.errors import BadRequest

if TYPE_CHECKING:  # a command without the option does not import the models of the API
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")
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


def parse(given: str, model: type[Model], *, field: str) -> Model:
    """The value of an option, checked as the API does. Raises BadRequest with the path of the first wrong value."""
    from fastapi.exceptions import RequestValidationError

    from app.requests import strict_json, validation_errors

    value = read(given, field=field)
    try:
        strict_json.check(value)
        return strict_json.validate(value, model)
    except RequestValidationError as error:
        first = validation_errors.read(error.errors(), value)[0]
    raise BadRequest(first.message, field=field if first.field == "body" else f"{field}.{first.field}")
