"""Refuses operators of other systems, such as `{"eq": 2024}`, in filters, and says what to send instead.

They would be read as keys that no document has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app import errors
from app.database import filters, sql
from app.database.filter_types import Filters
from app.database.transactions import Reading
from app.text import json_values

MAX_CHECKED = 20
"""Keys of one request that are looked up; the others are taken as they are."""
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
class _ForeignOperator:
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
    """What to send instead of an operator, in any spelling and with or without a dollar sign.

    None for a name that is no operator elsewhere.
    """
    return _ADVICE_BY_NAME.get(_JOINTS.sub("", name).lower().removeprefix("$"))


def _find(given: Filters, path: tuple[str | int, ...] = ()) -> Iterator[_ForeignOperator]:
    """The keys of objects in metadata, and in groups, that are operators elsewhere; `path` leads to the filters."""
    for key, value in (given.metadata or {}).items():
        yield from _find_in(value, (key,), (*path, "metadata"))
    for name, members in (("any", given.any_of), ("all", given.all_of)):
        for place, member in enumerate(members or ()):
            yield from _find(member, (*path, name, place))
    if given.negated is not None:
        yield from _find(given.negated, (*path, "not"))


def _find_in(value: Any, keys: tuple[str, ...], path: tuple[str | int, ...]) -> Iterator[_ForeignOperator]:
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        within = (*keys, key)
        if advice(key) is not None:
            yield _ForeignOperator(within, (*path, *within))
        yield from _find_in(inner, within, path)


async def check(db: Reading, given: Filters) -> None:
    """Raises BadRequest for a key such as `eq` in an object, unless a document that the caller sees has that key.

    Raises Forbidden if it is in the filters of the caller's key or token. Filters without such keys read nothing.
    """
    if (unknown := await _first_unknown(db, _find(given))) is not None:
        path = json_values.path_of(("filters", *unknown.path))
        raise errors.BadRequest(f"This is no operator, and no document has such a key: {unknown.advice}.", field=path)
    if db.restriction is None:
        return
    if (unknown := await _first_unknown(db, _find(db.restriction.filters))) is not None:
        path = json_values.path_of(unknown.path)
        raise errors.Forbidden(f"The filters of this key or token have no such operator ({path}): {unknown.advice}.")


async def _first_unknown(db: Reading, found: Iterable[_ForeignOperator]) -> _ForeignOperator | None:
    """The first of the keys that no document has which the caller sees."""
    by_path = {_json_path(one): one for one in islice(found, MAX_CHECKED)}
    if not by_path:
        return None
    visible = filters.binds(filters.visible(db, Filters()))
    binds = {"user_id": db.user_id, "paths": list(by_path), **visible}
    absent = set(await db.scalars(sql.statement("nested_keys", *visible), binds))
    return next((one for path, one in by_path.items() if path in absent), None)


def _json_path(one: _ForeignOperator) -> str:
    return "strict $" + "".join(f".{json.dumps(key)}" for key in one.keys)
