"""Defines the filters of a search, which are conditions on documents, and what a restricted caller sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from app.enums import DocumentOrder, Json

MAX_VALUES = 100
"""Most values of an `in`."""
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operator accepts: in words, and as a check of a value."""

    takes: str
    accepts: Callable[[Any], bool]


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)


def _are_scalars(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_VALUES and all(map(_is_scalar, value))


OPERANDS = {
    "in": Operand(f"a list of at most {MAX_VALUES} strings, numbers, booleans or nulls", _are_scalars),
    "ne": Operand("a string, a number, a boolean or null", _is_scalar),
    "exists": Operand("true or false", lambda value: isinstance(value, bool)),
}
"""Operators of a metadata filter. Each is a separate condition. Their SQL is in `filters`."""
BOUNDS = ("gte", "gt", "lte", "lt")
"""Operators that together form one range of numbers, or of dates and times."""
OPERATORS = (*OPERANDS, *BOUNDS)


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a document must all meet. `created_after` is inclusive, `created_before` exclusive.

    A value in `metadata` is a scalar, an operator object such as `{"gte": 2020, "ne": 2022}`, or other JSON. The
    document's value must be the scalar or a list with it. Any other JSON must be contained in the document's value. At
    least one filter of `any_of` must pass, every filter of `all_of`, and not `negated`. Names of sources are compared
    case-insensitively. `uri_prefix` and `folder` are a URI or a path in any spelling. `file_types` are suffixes of file
    names in lower case, without the dot.
    """

    document_ids: tuple[UUID, ...] | None = None
    source_ids: tuple[UUID, ...] | None = None
    source_names: tuple[str, ...] | None = None
    metadata: Json | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    uri_prefix: str | None = None
    folder: str | None = None
    file_types: tuple[str, ...] | None = None
    any_of: tuple[Filters, ...] | None = None
    all_of: tuple[Filters, ...] | None = None
    negated: Filters | None = None

    @property
    def uri_prefixes(self) -> list[str]:
        """The prefixes of the URI, in any spelling: `uri_prefix`, and `folder` with a slash."""
        folder = None if self.folder is None else self.folder.rstrip("/") + "/"
        return [prefix for prefix in (self.uri_prefix, folder) if prefix is not None]

    def __bool__(self) -> bool:
        return self != _NO_CONDITIONS


_NO_CONDITIONS = Filters()


@dataclass(frozen=True, slots=True)
class Restriction:
    """Restricts a caller to the documents that pass the filters. `filters.restriction` creates it.

    Attributes:
        path: The filters as a JSON path. The database's policies test it.
        needs_document: Whether the path has variables besides the metadata.
        shows_entities: Whether descriptions and facts of the visible entities are shown.
        audience: A digest, equal for callers who see the same, for caches, cursors, jobs and idempotency keys.
    """

    filters: Filters
    path: str
    needs_document: bool
    shows_entities: bool
    audience: str


ORDERED_CHARACTERS = 100
"""Number of leading characters by which titles are ordered."""


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Selects documents to list: with this URI in any spelling, with all words, and passing the filters.

    `order` is the order of the listing.
    """

    uri: str | None = None
    words: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    order: DocumentOrder = "newest"


def is_operator_object(value: Any) -> bool:
    """Whether the value of a metadata filter consists of operators. A document must contain any other object."""
    return isinstance(value, Mapping) and any(key in OPERATORS or key.startswith("$") for key in value)
