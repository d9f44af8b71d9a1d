"""Names the fields of a request that the steps and changes of an explanation are about, with values in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from app.shapes import FilterPart, QueryChange, StepResult

GROUPS = {"any_of": "any", "all_of": "all", "negated": "not"}
"""Names of the groups of filters in a request."""
MOST_REPEATED = 20
"""Ids of a filter that are repeated in an explanation; more are only counted."""
_OF_RANKING = ("candidates", "min_vector_score", "min_rrf_score", "min_confidence", "min_relevance")
_BY_STEP = {
    **dict.fromkeys(("excluded_word", "required_word", "condition"), "query"),
    **dict.fromkeys(("fusion", "entities", "rerank", "recency", "mmr"), "limit"),
    "group": "ranking.group",
}


def of_filter(part: FilterPart) -> str:
    """The path of a filter."""
    return f"filters.{GROUPS.get(part.field, part.field)}" + ("" if part.key is None else f".{part.key}")


def of_step(step: StepResult) -> str:
    """The field that a step follows from."""
    if step.filter is not None:
        return of_filter(step.filter)
    if not step.reached:
        return f"ranking.{step.step}"
    return f"ranking.{step.step}" if step.step in _OF_RANKING else _BY_STEP.get(step.step, step.step)


def needed(step: StepResult) -> Any:
    """The value that a step compares the passage's with; None for a group of filters and for a long list of ids."""
    if step.filter is None or step.filter.key is not None:
        return step.needed
    if isinstance(step.needed, datetime):
        return step.needed.isoformat()
    if isinstance(step.needed, str):
        return step.needed
    if step.filter.field in GROUPS or len(step.needed) > MOST_REPEATED:
        return None
    return [str(one) for one in step.needed]


def of_change(change: QueryChange) -> Iterator[tuple[str, Any]]:
    """The fields that a change gives other values; None leaves a field out."""
    if change.filter is not None:
        yield of_filter(change.filter), None
    elif change.field == "ranking.group" and change.value is not None:
        yield "ranking.group.size", change.value.size
    elif change.field == "exclude_chunk_ids":
        yield change.field, [str(one) for one in change.value]
    else:
        yield change.field, change.value
