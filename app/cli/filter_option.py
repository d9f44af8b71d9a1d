"""Checks the option `--filters` in commands that work on a database only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.cli import json_option
from app.errors import BadRequest

if TYPE_CHECKING:  # a command without the option does not import the models of the API
    from app.database.filter_types import Filters
    from app.requests.filter_models import SearchFilters


def read(given: str) -> Filters:
    """The filters of the option. Raises BadRequest with the path of the first wrong value."""
    return _model(given).shape()


def as_json(given: str) -> dict[str, Any]:
    """The filters of the option as JSON. Raises BadRequest as `read` does."""
    return _model(given).model_dump(mode="json", by_alias=True, exclude_none=True)


def _model(given: str) -> SearchFilters:
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError

    from app.requests import strict_json, validation_errors
    from app.requests.filter_models import SearchFilters

    filters = json_option.filters(given) or {}
    try:
        strict_json.check(filters)
        return SearchFilters.model_validate(filters)
    except RequestValidationError as error:
        found = [{**one, "loc": one["loc"][1:]} for one in error.errors()]
    except ValidationError as error:
        found = [dict(one) for one in error.errors()]
    first = validation_errors.read([{**one, "loc": ("body", *one["loc"])} for one in found], filters)[0]
    raise BadRequest(first.message, field="filters" if first.field == "body" else f"filters.{first.field}")
