"""Translates filters on metadata to conditions on the ids of keys and values that each document has.

A filter of other attributes of documents, or on what is inside of an object, is none: `read` returns None.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.shapes import BOUNDS, Filters, Json, dates
from app.shapes.filters import is_operator_object
from app.store.connection import sql
from app.store.connection.transactions import Reading

LONGEST_KEY = 200
"""Characters of a key that is counted (`is_facet.sql`)."""
Masks = Sequence[NDArray[np.bool_]]


class Condition(Protocol):
    """A condition on documents, made of whether each has one of the codes of a list."""

    def meets(self, having: Masks) -> NDArray[np.bool_]:
        """Which documents meet the condition, by which have one of the codes of each list."""

    def most(self, documents: Sequence[float]) -> float:
        """How many documents meet it at most, by how many have one of the codes of each list at most."""


@dataclass(frozen=True, slots=True)
class _Has:
    """Has one of the codes of a list."""

    place: int

    def meets(self, having: Masks) -> NDArray[np.bool_]:
        return having[self.place]

    def most(self, documents: Sequence[float]) -> float:
        return documents[self.place]


@dataclass(frozen=True, slots=True)
class _Every:
    """Meets every condition."""

    members: Sequence[Condition]

    def meets(self, having: Masks) -> NDArray[np.bool_]:
        met: NDArray[np.bool_] = np.logical_and.reduce([member.meets(having) for member in self.members])
        return met

    def most(self, documents: Sequence[float]) -> float:
        return min(member.most(documents) for member in self.members)


@dataclass(frozen=True, slots=True)
class _Some:
    """Meets one of the conditions."""

    members: Sequence[Condition]

    def meets(self, having: Masks) -> NDArray[np.bool_]:
        met: NDArray[np.bool_] = np.logical_or.reduce([member.meets(having) for member in self.members])
        return met

    def most(self, documents: Sequence[float]) -> float:
        return sum(member.most(documents) for member in self.members)


@dataclass(frozen=True, slots=True)
class _Not:
    """Does not meet a condition."""

    member: Condition

    def meets(self, having: Masks) -> NDArray[np.bool_]:
        return ~self.member.meets(having)

    def most(self, documents: Sequence[float]) -> float:
        return math.inf


@dataclass(frozen=True, slots=True)
class Conditions:
    """The condition that filters are, the lists of codes that it is made of, and how many documents meet it at most.

    `most` is infinite unless an index on metadata finds these documents.
    """

    root: Condition
    codes: Sequence[NDArray[np.int32]]
    most: float


@dataclass(slots=True)
class _Lists:
    """What the lists of codes are: scalars of a key, the values of a key within bounds, or a key by type, if given."""

    scalars: dict[int, tuple[str, Sequence[Any]]] = field(default_factory=dict)
    ranges: dict[int, tuple[str, tuple[str, dict[str, Decimal]]]] = field(default_factory=dict)
    keys: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def has(self, kind: dict[int, Any], key: str, wanted: Any) -> _Has:
        """The condition that a document has one of a new list."""
        place = len(self.scalars) + len(self.ranges) + len(self.keys)
        kind[place] = (key, wanted)
        return _Has(place)


class _NotOnIds(Exception):
    """A condition does not depend on the ids of keys and values alone."""


async def read(db: Reading, filters: Filters) -> Conditions | None:
    """The conditions that filters are, with the codes of the user's keys and values; None if they are none."""
    lists = _Lists()
    try:
        root = _all(filters, lists)
    except _NotOnIds:
        return None
    found = {place: (codes, documents) async for place, codes, documents in _codes(db, lists)}
    number = len(lists.scalars) + len(lists.ranges) + len(lists.keys)
    ordered = [found.get(place, (np.empty(0, np.int32), 0)) for place in range(number)]
    return Conditions(root, [codes for codes, _ in ordered], root.most([documents for _, documents in ordered]))


def _all(filters: Filters, lists: _Lists) -> Condition:
    if filters != Filters(
        metadata=filters.metadata, any_of=filters.any_of, all_of=filters.all_of, negated=filters.negated
    ):
        raise _NotOnIds
    members = [one for key, value in (filters.metadata or {}).items() for one in _of_key(key, value, lists)]
    if filters.any_of is not None:
        members.append(_Some([_all(member, lists) for member in filters.any_of]))
    members += [_all(member, lists) for member in filters.all_of or ()]
    if filters.negated is not None:
        members.append(_Not(_all(filters.negated, lists)))
    if not members or filters.any_of == ():
        raise _NotOnIds
    return _Every(members)


def _of_key(key: str, value: Any, lists: _Lists) -> Iterator[Condition]:
    if len(key) > LONGEST_KEY:
        raise _NotOnIds
    if not isinstance(value, Mapping | list | tuple):
        yield lists.has(lists.scalars, key, [value])
    elif isinstance(value, Mapping) and is_operator_object(value):
        yield from _operators(key, value, lists)
    elif isinstance(value, Mapping) or any(isinstance(element, Mapping | list | tuple) for element in value):
        raise _NotOnIds
    else:
        yield lists.has(lists.keys, key, "array")
        yield from (lists.has(lists.scalars, key, [element]) for element in value)


def _operators(key: str, given: Json, lists: _Lists) -> Iterator[Condition]:
    bounds = {operator: bound for operator, bound in given.items() if operator in BOUNDS}
    if bounds:
        yield lists.has(lists.ranges, key, _magnitudes(bounds))
    for operator, operand in given.items():
        if operator == "in":
            yield lists.has(lists.scalars, key, operand)
        elif operator == "ne":
            yield _Not(lists.has(lists.scalars, key, [operand]))
        elif operator == "exists":
            present = lists.has(lists.keys, key, None)
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


async def _codes(db: Reading, lists: _Lists) -> AsyncIterator[tuple[int, NDArray[np.int32], float]]:
    """Place, codes and documents of each list of which any document has one."""
    scalars = [(place, key, json.dumps(one)) for place, (key, listed) in lists.scalars.items() for one in listed]
    if scalars:
        places, keys, values = (list(column) for column in zip(*scalars, strict=True))
        binds = {"user_id": db.user_id, "places": places, "keys": keys, "values": values}
        for row in await db.execute(sql.statement("facet_ids_of_values"), binds):
            yield row.place, 2 * np.array(row.ids, np.int32), row.documents
    if lists.keys:
        keys, types = ([pair[each] for pair in lists.keys.values()] for each in (0, 1))
        binds = {"user_id": db.user_id, "places": list(lists.keys), "keys": keys, "types": types}
        for row in await db.execute(sql.statement("facet_ids_of_keys"), binds):
            yield row.place, 2 * np.array(row.ids, np.int32) + 1, math.inf
    for place, (key, (type_, bounds)) in lists.ranges.items():
        of_key = {"user_id": db.user_id, "key": key, "type": type_}
        stored = await db.scalar(sql.statement("facet_ids_in_range", *bounds), {**of_key, **bounds})
        yield place, 2 * np.frombuffer(stored, ">i4").astype(np.int32), math.inf
