"""Defines a condition of a filter that no document meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MissedFilter:
    """A condition on metadata that no document meets, with the nearest stored key or value, if there is one.

    `present` are the commonest values of the key, or the commonest keys if no document has it.
    """

    key: str
    has_key: bool
    present: tuple[str, ...]
    nearest_key: str | None = None
    nearest_value: Any = None
    same_letters: bool = False
