"""Builds the request of a search from the options that its commands share."""

from __future__ import annotations

from typing import Any

from app.cli import json_option
from app.cli.client import Answer
from app.search.steps.recency import recency_option


def build(
    query: str,
    *,
    limit: int,
    filters: str | None,
    collapse: bool,
    recency: str | None,
    mode: str | None = None,
    **ranking: Any,
) -> Answer:
    """The request with what the options of a command say; options that are None keep the service's default."""
    tuned = {**ranking, "recency": recency_option.read(recency)}
    fields = {
        "query": query,
        "limit": limit,
        "mode": mode,
        "filters": json_option.filters(filters),
        "collapse": None if collapse else "off",
        "ranking": _given(tuned) or None,
    }
    return _given(fields)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
