"""Builds the filters of searches, listings and deletions.

    from stepwell_client.filters import created_after, key

    stepwell.search("mortar", filters=key("team").equals("masonry") & key("year").at_least(2024))

A filter is a dictionary in the form of the REST API. `&`, `|` and `~` combine filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

Scalar = str | int | float | bool | None
Bound = int | float | date | datetime | str


class Filter(dict[str, Any]):
    """Conditions that a document must meet."""

    def __and__(self, other: Filter) -> Filter:
        return Filter({"all": [self, other]})

    def __or__(self, other: Filter) -> Filter:  # type: ignore[override]
        return Filter({"any": [self, other]})

    def __invert__(self) -> Filter:
        return Filter({"not": self})


class Key:
    """A key of the documents' metadata."""

    def __init__(self, name: str) -> None:
        self._name = name

    def equals(self, value: Scalar) -> Filter:
        """The value is this one, or a list that contains it."""
        return self._filter(value)

    def differs_from(self, value: Scalar) -> Filter:
        """The value is another one, or there is none."""
        return self._filter({"ne": value})

    def one_of(self, values: Sequence[Scalar]) -> Filter:
        """The value is one of these."""
        return self._filter({"in": list(values)})

    def exists(self, wanted: bool = True) -> Filter:
        """The document has the key, or does not."""
        return self._filter({"exists": wanted})

    def at_least(self, bound: Bound) -> Filter:
        """A number, date or time that is not smaller."""
        return self._filter({"gte": _bound(bound)})

    def at_most(self, bound: Bound) -> Filter:
        """A number, date or time that is not larger."""
        return self._filter({"lte": _bound(bound)})

    def more_than(self, bound: Bound) -> Filter:
        """A number, date or time that is larger."""
        return self._filter({"gt": _bound(bound)})

    def less_than(self, bound: Bound) -> Filter:
        """A number, date or time that is smaller."""
        return self._filter({"lt": _bound(bound)})

    def _filter(self, value: object) -> Filter:
        return Filter({"metadata": {self._name: value}})


def key(name: str) -> Key:
    """A key of the documents' metadata."""
    return Key(name)


def documents(ids: Sequence[UUID | str]) -> Filter:
    """Only these documents."""
    return Filter({"document_ids": list(map(str, ids))})


def sources(ids: Sequence[UUID | str]) -> Filter:
    """Only documents of these sources."""
    return Filter({"source_ids": list(map(str, ids))})


def source_names(names: Sequence[str]) -> Filter:
    """Only documents of sources with these names, in any case."""
    return Filter({"source_names": list(names)})


def folder(path: str) -> Filter:
    """Only documents in this folder, at any depth; a path or a URI."""
    return Filter({"folder": path})


def uri_prefix(beginning: str) -> Filter:
    """Only documents whose URI begins so."""
    return Filter({"uri_prefix": beginning})


def file_types(suffixes: Sequence[str]) -> Filter:
    """Only documents from files with one of these suffixes, such as pdf."""
    return Filter({"file_types": list(suffixes)})


def created_after(moment: date | datetime | str) -> Filter:
    """Only documents that were created then or later."""
    return Filter({"created_after": _bound(moment)})


def created_before(moment: date | datetime | str) -> Filter:
    """Only documents that were created before."""
    return Filter({"created_before": _bound(moment)})


def _bound(bound: Bound) -> int | float | str:
    return bound.isoformat() if isinstance(bound, date) else bound
