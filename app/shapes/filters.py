"""Defines the filters of a search: conditions on documents, and groups of conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from app.shapes.kinds import Json

OPERATORS = ("in", "ne", "exists", "gte", "gt", "lte", "lt")
"""The operators of a metadata filter."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a document must all meet. `created_after` is inclusive, `created_before` exclusive.

    A value in `metadata` is a scalar, which the document's value must equal or contain as an element of a list; an
    operator object such as `{"gte": 2020, "ne": 2022}`; or other JSON, which must be contained. `any_of` and `all_of`
    are filters of which at least one, or each, must pass; `negated` must not pass.
    """

    document_ids: tuple[UUID, ...] | None = None
    source_ids: tuple[UUID, ...] | None = None
    metadata: Json | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    any_of: tuple[Filters, ...] | None = None
    all_of: tuple[Filters, ...] | None = None
    negated: Filters | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))


def is_operator_object(value: Any) -> bool:
    """Whether a value of a metadata filter has operators; other objects must be contained."""
    return isinstance(value, Mapping) and any(key in OPERATORS or key.startswith("$") for key in value)
