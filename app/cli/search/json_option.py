"""Reads the JSON of an option as a field of a request of the API, with the same checks."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from app.api.contract import validation_errors
from app.errors import BadRequest

T = TypeVar("T")


def read(given: str, kind: TypeAdapter[T], *, field: str) -> T:
    """The value of an option. Raises BadRequest with the path of the first wrong value in the field."""
    from fastapi.exceptions import RequestValidationError  # takes longer to import than the command needs otherwise

    from app.api.bodies import strict_json

    try:
        parsed = strict_json.parse(given.encode(errors="surrogateescape"))
    except RequestValidationError as error:
        raise _bad_request(list(error.errors()), None, field) from None
    try:
        return kind.validate_python(parsed)
    except ValidationError as error:
        located = [{**found, "loc": ("body", *found["loc"])} for found in error.errors()]
        raise _bad_request(located, parsed, field) from None


def _bad_request(found: list[Any], parsed: object, field: str) -> BadRequest:
    first = validation_errors.read(found, parsed)[0]
    path = "" if first.field == "body" else f".{first.field}"
    return BadRequest(first.message, field=f"{field}{path}")
