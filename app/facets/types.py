"""Defines facets: which keys of metadata, folders and file types documents have, with types, values and counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from cachetools import TTLCache
from typing_extensions import TypeAliasType

from app.database.filter_types import Filters
from app.kinds import Json, Meaning

FacetsOf = TypeAliasType(
    "FacetsOf",
    Annotated[
        Literal["metadata", "files"],
        Meaning("What facets count: keys of metadata, or folders and types of files."),
    ],
)
MAX_KEYS = 100
"""Keys of one answer: those of most documents."""
MAX_VALUES_OF_KEY = 100
"""Largest number of values of a key in an answer."""


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """Which facets to count: of the documents that pass the filters, of all keys or of one, with so many values a key.

    `prefix` is the beginning of keys, or with a key that of its values, in any case. `of` files, the keys are `folder`
    and `file_type`.
    """

    filters: Filters = field(default_factory=Filters)
    key: str | None = None
    prefix: str = ""
    limit: int = 10
    of: FacetsOf = "metadata"


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


CACHED_VALUES, CACHED_S = 200_000, 3_600
"""Values of facets that a process keeps, and for how long."""


def _values_in(facets: Sequence[Facet]) -> int:
    return 1 + sum(1 + len(facet.values) for facet in facets)


@dataclass(frozen=True, slots=True)
class FacetCache:
    """Counted facets by the version of what was counted."""

    of_versions: TTLCache[Hashable, Sequence[Facet]] = field(
        default_factory=lambda: TTLCache(CACHED_VALUES, CACHED_S, getsizeof=_values_in)
    )
