"""Says in words what a filter that no document passes probably stands for."""

from __future__ import annotations

from collections.abc import Iterable

from app.shapes import MissedFilter


def sentences(missed: Iterable[MissedFilter]) -> list[str]:
    """One sentence for each condition, such as "team: did you mean Firmware? Values are case-sensitive."."""
    return [sentence(one) for one in missed]


def sentence(missed: MissedFilter) -> str:
    """What to change in a condition."""
    if missed.nearest_key is not None:
        return f"metadata.{missed.key}: no document has this key. Did you mean {missed.nearest_key}?"
    if missed.nearest_value is not None:
        case = " Values are case-sensitive." if missed.same_letters else ""
        return f"{missed.key}: did you mean {missed.nearest_value}?{case}"
    return f"{missed.key}: no document has this key or value; GET /api/rag/facets and list_facets show what there is."
