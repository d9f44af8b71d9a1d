"""Checks requests as the REST API does, for a backend that has no service to do so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.api.contract import validation_errors
from app.errors import BadRequest

Model = TypeVar("Model", bound=BaseModel)


def read(kind: type[Model], request: Mapping[str, Any], *, field: str = "") -> Model:
    """The model of a request, or of its field. Raises BadRequest with the path of the first wrong value."""
    try:
        _check_values(request)
        return kind.model_validate(dict(request))
    except ValidationError as error:
        raise _bad_request(error.errors(), request, field) from None


def _check_values(given: Mapping[str, Any]) -> None:
    """Raises BadRequest for numbers and texts that cannot be stored; flat requests have none."""
    if not any(isinstance(value, dict | list) for value in given.values()):
        return
    from fastapi.exceptions import RequestValidationError  # takes longer to import than most commands need otherwise

    from app.api.bodies import strict_json

    try:
        strict_json.check(given)
    except RequestValidationError as error:
        raise _bad_request([{**one, "loc": one["loc"][1:]} for one in error.errors()], given, "") from None


def _bad_request(found: Any, request: Mapping[str, Any], field: str) -> BadRequest:
    located = [{**one, "loc": ("body", *one["loc"])} for one in found]
    first = validation_errors.read(located, dict(request))[0]
    path = ".".join(part for part in (field, "" if first.field == "body" else first.field) if part)
    return BadRequest(first.message, field=path or None)
