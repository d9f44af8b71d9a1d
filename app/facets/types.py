"""Defines the facets of metadata: which keys documents have, with types, values and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.database.filters.types import Filters
from app.kinds import Json

MAX_KEYS = 100
"""Keys of one answer: those of most documents."""
MAX_VALUES_OF_KEY = 100
"""Largest number of values of a key in an answer."""


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """Which facets to count: of the documents that pass the filters, of all keys or of one, with so many values a key.

    `prefix` is the beginning of keys, or with a key that of its values, in any case.
    """

    filters: Filters = field(default_factory=Filters)
    key: str | None = None
    prefix: str = ""
    limit: int = 10


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a key, and the number of documents that have it."""

    value: Any
    documents: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A key: the documents that have it, the types of its values, the number of its values and the commonest of them.

    The elements of a list are values; objects are not.
    """

    key: str
    documents: int
    types: Json
    distinct: int
    values: tuple[FacetValue, ...]
