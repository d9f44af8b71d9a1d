"""Defines the query parameters that listings share: a cursor, and the filters of a search as JSON."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app.database.filter_types import Filters
from app.requests import cursors, strict_json
from app.requests.filter_models import SearchFilters

MAX_LENGTH = 8_000
NAME = "filters"
_EXAMPLES = {
    "none": {"summary": "Every document", "value": "{}"},
    "team": {"summary": "Documents of a team", "value": '{"metadata": {"team": "Field Operations"}}'},
}
Cursor = Annotated[str | None, Query(max_length=cursors.MAX_LENGTH, description="`next_cursor` of the previous page.")]
"""Where a listing continues."""


def read(
    filters: Annotated[
        str | None,
        Query(
            max_length=MAX_LENGTH,
            description="Only documents that pass these filters: those of a search, as JSON.",
            openapi_examples=_EXAMPLES,
        ),
    ] = None,
) -> Filters:
    """The filters as a core type. Raises RequestValidationError."""
    if filters is None:
        return Filters()
    try:
        given = strict_json.parse(filters.encode("utf-8", "surrogatepass"))
        return SearchFilters.model_validate(given).shape()
    except RequestValidationError as error:
        found = [{**one, "loc": ("query", NAME, *one["loc"][1:])} for one in error.errors()]
        named = [{**one, "msg": str(one["msg"]).replace("The body", "The JSON")} for one in found]
        raise RequestValidationError(named) from None
    except ValidationError as error:
        raised = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("query", NAME, *one["loc"])} for one in raised]) from None


Filtered = Annotated[Filters, Depends(read)]
"""The filters of a request; without the parameter every document passes."""
