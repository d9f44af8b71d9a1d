"""Translates filters to conditions on the ids of keys and values that each document has, and on its attributes.

A filter on ids of documents, or on what is inside of an object, is none: `read` returns None.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.shapes import BOUNDS, Filters, Json, dates, uris
from app.shapes.filters import is_operator_object
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.facets.document_attributes import Attributes, Mask
from app.store.filters import filters as translation

LONGEST_KEY = 200
"""Characters of a key that is counted (`is_facet.sql`)."""
_NONE = np.empty(0, np.int32)
Masks = Sequence[Mask]
Test = Callable[[Attributes], Mask]


class Condition(Protocol):
    """A condition on documents, made of whether each has one of the codes of a list, or passes a test, by place."""

    def meets(self, having: Masks) -> Mask:
        """Which documents meet the condition, by which have one of the codes of each list or pass the test."""

    def most(self, documents: Sequence[float]) -> float:
        """How many documents meet it at most, by how many these are at most."""


@dataclass(frozen=True, slots=True)
class _Has:
    """Has one of the codes of a list, or passes a test."""

    place: int

    def meets(self, having: Masks) -> Mask:
        return having[self.place]

    def most(self, documents: Sequence[float]) -> float:
        return documents[self.place]


@dataclass(frozen=True, slots=True)
class _Every:
    """Meets every condition."""

    members: Sequence[Condition]

    def meets(self, having: Masks) -> Mask:
        met: Mask = np.logical_and.reduce([member.meets(having) for member in self.members])
        return met

    def most(self, documents: Sequence[float]) -> float:
        return min(member.most(documents) for member in self.members)


@dataclass(frozen=True, slots=True)
class _Some:
    """Meets one of the conditions."""

    members: Sequence[Condition]

    def meets(self, having: Masks) -> Mask:
        met: Mask = np.logical_or.reduce([member.meets(having) for member in self.members])
        return met

    def most(self, documents: Sequence[float]) -> float:
        return sum(member.most(documents) for member in self.members)


@dataclass(frozen=True, slots=True)
class _Not:
    """Does not meet a condition."""

    member: Condition

    def meets(self, having: Masks) -> Mask:
        return ~self.member.meets(having)

    def most(self, documents: Sequence[float]) -> float:
        return math.inf


@dataclass(frozen=True, slots=True)
class Conditions:
    """The condition that filters are, what it is made of, and how many documents meet it at most.

    At each place is a list of codes, or else a test of attributes, and an empty list. `most` is infinite unless an
    index on metadata finds these documents.
    """

    root: Condition
    codes: Sequence[NDArray[np.int32]]
    tests: Mapping[int, Test]
    most: float


@dataclass(slots=True)
class _Parts:
    """What the lists of codes are: scalars of a key, the values of a key within bounds, or a key by type, if given.

    `tests` are those of attributes, `source_names` those of the sources of which it is tested.
    """

    scalars: dict[int, tuple[str, Sequence[Any]]] = field(default_factory=dict)
    ranges: dict[int, tuple[str, tuple[str, dict[str, Decimal]]]] = field(default_factory=dict)
    keys: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    tests: dict[int, Test] = field(default_factory=dict)
    source_names: dict[int, Sequence[str]] = field(default_factory=dict)
    number: int = 0

    def add(self, kind: dict[int, Any], part: Any) -> _Has:
        """The condition that a document has one of the codes of a new list, or passes a new test."""
        kind[self.number] = part
        self.number += 1
        return _Has(self.number - 1)


class _NotOnIds(Exception):
    """A condition does not depend on the ids of keys and values alone."""


async def read(db: Reading, filters: Filters) -> Conditions | None:
    """The conditions that filters are, with the codes of the user's keys and values; None if they are none."""
    parts = _Parts()
    try:
        root = _all(filters, parts)
    except _NotOnIds:
        return None
    found = {place: (codes, documents) async for place, codes, documents in _codes(db, parts)}
    tests = {**parts.tests, **{place: test async for place, test in _source_tests(db, parts)}}
    found |= dict.fromkeys(tests, (_NONE, math.inf))
    ordered = [found.get(place, (_NONE, 0)) for place in range(parts.number)]
    most = root.most([documents for _, documents in ordered])
    return Conditions(root, [codes for codes, _ in ordered], tests, most)


def _all(filters: Filters, parts: _Parts) -> Condition:
    if filters.document_ids is not None:
        raise _NotOnIds
    members = [*_of_document(filters, parts)]
    members += [one for key, value in (filters.metadata or {}).items() for one in _of_key(key, value, parts)]
    if filters.any_of is not None:
        members.append(_Some([_all(member, parts) for member in filters.any_of]))
    members += [_all(member, parts) for member in filters.all_of or ()]
    if filters.negated is not None:
        members.append(_Not(_all(filters.negated, parts)))
    if not members or filters.any_of == ():
        raise _NotOnIds
    return _Every(members)


def _of_document(filters: Filters, parts: _Parts) -> Iterator[Condition]:
    tests: list[Test] = []
    if filters.created_after is not None:
        tests.append(partial(Attributes.created_from, moment=dates.since_1970(filters.created_after)))
    if filters.created_before is not None:
        tests.append(partial(Attributes.created_before, moment=dates.since_1970(filters.created_before)))
    if filters.source_ids is not None:
        tests.append(partial(Attributes.of_sources, source_ids=filters.source_ids))
    tests += [partial(Attributes.begin, prefixes=uris.spellings(prefix)) for prefix in filters.uri_prefixes]
    if filters.file_types is not None:
        tests.append(partial(Attributes.have_suffix, suffixes=filters.file_types))
    yield from (parts.add(parts.tests, test) for test in tests)
    if filters.source_names is not None:
        yield parts.add(parts.source_names, filters.source_names)


def _of_key(key: str, value: Any, parts: _Parts) -> Iterator[Condition]:
    if len(key) > LONGEST_KEY:
        raise _NotOnIds
    if not isinstance(value, Mapping | list | tuple):
        yield parts.add(parts.scalars, (key, [value]))
    elif isinstance(value, Mapping) and is_operator_object(value):
        yield from _operators(key, value, parts)
    elif isinstance(value, Mapping) or any(isinstance(element, Mapping | list | tuple) for element in value):
        raise _NotOnIds
    else:
        yield parts.add(parts.keys, (key, "array"))
        yield from (parts.add(parts.scalars, (key, [element])) for element in value)


def _operators(key: str, given: Json, parts: _Parts) -> Iterator[Condition]:
    bounds = {operator: bound for operator, bound in given.items() if operator in BOUNDS}
    if bounds:
        yield parts.add(parts.ranges, (key, _magnitudes(bounds)))
    for operator, operand in given.items():
        if operator == "in":
            yield parts.add(parts.scalars, (key, operand))
        elif operator == "ne":
            yield _Not(parts.add(parts.scalars, (key, [operand])))
        elif operator == "exists":
            present = parts.add(parts.keys, (key, None))
            yield present if operand else _Not(present)
        elif operator not in BOUNDS:
            raise _NotOnIds


def _magnitudes(bounds: Json) -> tuple[str, dict[str, Decimal]]:
    """The type of the values within bounds, and the bounds as numbers: dates and times in microseconds since 1970."""
    if all(isinstance(bound, str) for bound in bounds.values()):
        moments = {operator: dates.microseconds(bound) for operator, bound in bounds.items()}
        if None not in moments.values():
            return "string", {operator: Decimal(moment or 0) for operator, moment in moments.items()}
    elif all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in bounds.values()):
        return "number", {operator: Decimal(json.dumps(bound)) for operator, bound in bounds.items()}
    raise _NotOnIds


async def _codes(db: Reading, parts: _Parts) -> AsyncIterator[tuple[int, NDArray[np.int32], float]]:
    """Place, codes and documents of each list of which any document has one."""
    scalars = [(place, key, json.dumps(one)) for place, (key, listed) in parts.scalars.items() for one in listed]
    if scalars:
        places, keys, values = (list(column) for column in zip(*scalars, strict=True))
        binds = {"user_id": db.user_id, "places": places, "keys": keys, "values": values}
        for row in await db.execute(sql.statement("facet_ids_of_values"), binds):
            yield row.place, 2 * np.array(row.ids, np.int32), row.documents
    if parts.keys:
        keys, types = ([pair[each] for pair in parts.keys.values()] for each in (0, 1))
        binds = {"user_id": db.user_id, "places": list(parts.keys), "keys": keys, "types": types}
        for row in await db.execute(sql.statement("facet_ids_of_keys"), binds):
            yield row.place, 2 * np.array(row.ids, np.int32) + 1, math.inf
    for place, (key, (type_, bounds)) in parts.ranges.items():
        of_key = {"user_id": db.user_id, "key": key, "type": type_}
        stored = await db.scalar(sql.statement("facet_ids_in_range", *bounds), {**of_key, **bounds})
        yield place, 2 * np.frombuffer(stored, ">i4").astype(np.int32), math.inf


_SOURCES_BY_NAME = sql.inline(
    """
    SELECT s.source_id FROM stepwell.sources AS s
    WHERE s.user_id = :user_id AND {{source_name s}} = ANY (:names)
    """,
    user_id="text",
    names="text[]",
)


async def _source_tests(db: Reading, parts: _Parts) -> AsyncIterator[tuple[int, Test]]:
    for place, names in parts.source_names.items():
        binds = {"user_id": db.user_id, "names": translation.spellings(names)}
        source_ids = list(await db.scalars(_SOURCES_BY_NAME, binds))
        yield place, partial(Attributes.of_sources, source_ids=source_ids)
