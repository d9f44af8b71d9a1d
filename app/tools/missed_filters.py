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
    missing = "this value" if missed.has_key else "this key"
    named = f" There is {', '.join(missed.present)}." if missed.present else ""
    return f"{missed.key}: no document has {missing}.{named}"
