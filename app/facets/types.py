"""Defines facets: which keys of metadata, folders and file types documents have, with types, values and counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from cachetools import TTLCache
from typing_extensions import TypeAliasType

from app.database.filter_types import Filters
from app.enums import Json, Meaning

FacetsOf = TypeAliasType(
    "FacetsOf",
    Annotated[
        Literal["metadata", "files"],
        Meaning("What facets count: keys of metadata, or folders and types of files."),
    ],
)
MAX_KEYS = 100
"""Largest number of keys in an answer; the keys of most documents come first."""
MAX_VALUES_OF_KEY = 100
"""Largest number of values of a key in an answer."""


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """Which facets of the documents that pass the filters to count: all keys or one, with `limit` values for each.

    `prefix` is the beginning of the keys, or of the values if `key` is given; case is ignored. With `of="files"` the
    keys are `folder` and `file_type`.
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
    """A key, the number of documents that have it, and the types, the number and the most common of its values.

    The elements of a list count as values; objects do not.
    """

    key: str
    documents: int
    types: Json
    distinct: int
    values: tuple[FacetValue, ...]


CACHED_VALUES, CACHED_S = 200_000, 3_600
"""How many values of facets a process caches, and for how many seconds."""
VALUE_LENGTH = 100
"""A longer value counts again for each further run of so many characters."""


def _size(facets: Sequence[Facet]) -> int:
    return 1 + sum(1 + sum(1 + len(str(one.value)) // VALUE_LENGTH for one in facet.values) for facet in facets)


class FacetCache(TTLCache[Hashable, Sequence[Facet]]):
    """Counted facets, by the version of the data that was counted."""

    def __init__(self) -> None:
        super().__init__(CACHED_VALUES, CACHED_S, getsizeof=_size)
