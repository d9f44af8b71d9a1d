"""Finds the conditions of filters that no document meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app import capability
from app.database.filter_types import Filters
from app.database.transactions import Database


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


async def find(filters: Filters, user_id: str, *, db: Database) -> list[MissedFilter]:
    """The conditions on metadata that no document meets by themselves, as far as a capability can tell."""
    return [one for look in capability.declared("missed_filters") for one in await look(filters, user_id, db=db)]
