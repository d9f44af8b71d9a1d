"""Finds operators of other systems, such as `{"eq": 2024}`, in filters, and says what to send instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.database.filter_types import Filters

_VALUE = 'send the value itself, as {"key": value}; of a list, one element must be it'
_NOT_IN = "use `ne` for one value, or `filters.not` around a filter with `in` for several"
_PART = "filters compare whole values: send the whole value, or search for the words in `query`"
_BEGINNING = f"{_PART}; `filters.uri_prefix` and `filters.folder` compare the beginning of a URI"
_ADVICE = {
    "eq equal equals equalto == =": _VALUE,
    "neq noteq notequal notequals notequalto != <>": "use `ne`",
    "nin notin noneof": _NOT_IN,
    "anyof oneof containsany hasany arraycontainsany overlaps": "use `in`",
    "allof containsall hasall arraycontainsall": "use `filters.all` with a filter for each value",
    "contains has includes arraycontains containselement": f"{_VALUE}. Besides, {_PART}",
    "notcontains doesnotcontain excludes": "use `ne`, which a list must not contain either",
    "between inrange": "use `gte` and `lte` together",
    "greaterthan morethan >": "use `gt`",
    "greaterthanorequal greaterthanorequals greaterthanorequalto greaterthanequal ge >=": "use `gte`",
    "lessthan <": "use `lt`",
    "lessthanorequal lessthanorequals lessthanorequalto lessthanequal le <=": "use `lte`",
    "like ilike notlike notilike substring icontains regex regexp iregex matches ~ ~*": _PART,
    "startswith beginswith istartswith prefix": _BEGINNING,
    "endswith iendswith suffix": f"{_PART}; `filters.file_types` compares the suffix of a file",
    "isnull": "send null itself, or use `exists` with false for a key that is absent",
    "isnotnull notnull notexists": "use `exists`, or `ne` with null",
}
_ADVICE_BY_NAME = {name: advice for names, advice in _ADVICE.items() for name in names.split()}
_JOINTS = re.compile(r"[\s_-]")


@dataclass(frozen=True, slots=True)
class ForeignOperator:
    """A key of an object in the metadata of filters that is an operator elsewhere.

    `keys` lead to it from the metadata, and `path` from the filters: `("any", 0, "metadata", "year", "eq")`.
    """

    keys: tuple[str, ...]
    path: tuple[str | int, ...]

    @property
    def advice(self) -> str:
        """What to send instead."""
        return advice(self.keys[-1]) or ""


def advice(name: str) -> str | None:
    """What to send instead of an operator, in any spelling and with or without a dollar sign; None if it is none."""
    return _ADVICE_BY_NAME.get(_JOINTS.sub("", name).lower().removeprefix("$"))


def find(filters: Filters) -> Iterator[ForeignOperator]:
    """The keys of objects in metadata, and in groups, that are operators elsewhere."""
    return _of_filters(filters, ())


def _of_filters(filters: Filters, path: tuple[str | int, ...]) -> Iterator[ForeignOperator]:
    for key, value in (filters.metadata or {}).items():
        yield from _of_value(value, (key,), (*path, "metadata"))
    for name, members in (("any", filters.any_of), ("all", filters.all_of)):
        for place, member in enumerate(members or ()):
            yield from _of_filters(member, (*path, name, place))
    if filters.negated is not None:
        yield from _of_filters(filters.negated, (*path, "not"))


def _of_value(value: Any, keys: tuple[str, ...], path: tuple[str | int, ...]) -> Iterator[ForeignOperator]:
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        within = (*keys, key)
        if advice(key) is not None:
            yield ForeignOperator(within, (*path, *within))
        yield from _of_value(inner, within, path)
