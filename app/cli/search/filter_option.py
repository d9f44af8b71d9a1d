"""Checks the option `--filters` in commands that work on a database only."""

from __future__ import annotations

from typing import Any

from app.cli.backends import requests
from app.cli.search import json_option
from app.pipelines.requests.filter_models import SearchFilters
from app.shapes import Filters


def read(given: str | None) -> Filters:
    """The filters of the option. Raises BadRequest with the path of the first wrong value."""
    return Filters() if given is None else _model(given).shape()


def as_json(given: str | None) -> dict[str, Any] | None:
    """The filters of the option as JSON. Raises BadRequest as `read` does."""
    return None if given is None else _model(given).model_dump(mode="json", by_alias=True, exclude_none=True)


def _model(given: str) -> SearchFilters:
    return requests.read(SearchFilters, json_option.filters(given) or {}, field="filters")
