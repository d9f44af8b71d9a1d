"""Defines what a caller sees that does not see everything of its user."""

from __future__ import annotations

from dataclasses import dataclass

from app.database.filter_types import Filters


@dataclass(frozen=True, slots=True)
class Restriction:
    """The documents that a caller sees: those that pass the filters; made by `store.filters.filters.restriction`.

    Attributes:
        path: The filters as a JSON path, which the policies of the database test.
        needs_document: Whether the path has variables besides the metadata.
        shows_entities: Whether descriptions and facts of the visible entities are shown.
        audience: A digest that callers who see the same share, for caches, cursors, jobs and idempotency keys.
    """

    filters: Filters
    path: str
    needs_document: bool
    shows_entities: bool
    audience: str
