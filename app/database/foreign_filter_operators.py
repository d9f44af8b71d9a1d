"""Refuses operators of other systems, such as `{"eq": 2024}` and `{"$or": […]}`, and says what to send instead.

Otherwise they would be read as keys that no document has, and every document would pass a `not` around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from app import errors
from app.database import filters, sql
from app.database.filter_types import Filters
from app.database.transactions import Reading
from app.text import unstorable_json

MAX_CHECKED = 20
"""Most keys of a request that are checked. Further keys are accepted unchecked."""
_VALUE = 'send the value itself, as {"key": value}; of a list, one element must be it'
_REQUESTS = "requests with `filters`, which tools for agents do not take, have"
_PART = "filters compare whole values: send the whole value, or search for the words in `query`"
_BEGINNING = f"{_PART}; `filters.uri_prefix` and `filters.folder` compare the beginning of a URI"
_ADVICE = {
    "eq equal equals equalto == = match": _VALUE,
    "neq noteq notequal notequals notequalto != <>": "use `ne`",
    "nin notin noneof except": f"use `ne` for one value; {_REQUESTS} `filters.not`, a filter with `in` for several",
    "any anyof oneof containsany hasany arraycontainsany overlaps": "use `in`",
    "all allof containsall hasall arraycontainsall": "send the list itself, all of whose elements must be there",
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
    "isnull isempty": "send null itself, or use `exists` with false for a key that is absent",
    "isnotnull notnull notexists": "use `exists`, or `ne` with null",
}
_GROUP_ADVICE = {
    "and must": f"keys beside one another must all be met; {_REQUESTS} `filters.all`, a list of filters",
    "or should": f"use `in` for several values of a key; {_REQUESTS} `filters.any`, a list of filters",
    "not nor mustnot": f"use `ne` for a value; {_REQUESTS} `filters.not`, a filter",
}
_GROUPS = frozenset(name for names in _GROUP_ADVICE for name in names.split())
_ADVICE_BY_NAME = {name: advice for names, advice in (_ADVICE | _GROUP_ADVICE).items() for name in names.split()}
_JOINTS = re.compile(r"[\s_-]")


Path = tuple[str | int, ...]
"""The path from the filters to a key in the metadata: `("any", 0, "metadata", "year", "eq")`."""


def advice(name: str) -> str | None:
    """What to send instead of an operator, in any spelling and with or without a dollar sign.

    None for a name that is not an operator of another system.
    """
    return _ADVICE_BY_NAME.get(_plain(name))


def is_group(key: str, value: object) -> bool:
    """Whether a key of the metadata is named as a group of another system, and has a list or an object as groups do."""
    return isinstance(value, list | Mapping) and _plain(key) in _GROUPS


def _plain(name: str) -> str:
    return _JOINTS.sub("", name).lower().removeprefix("$")


def _find(given: Filters, path: Path = ()) -> Iterator[Path]:
    """The keys of metadata and of objects in it that are foreign groups and operators; `path` leads to the filters."""
    for key, value in (given.metadata or {}).items():
        if is_group(key, value):
            yield (*path, "metadata", key)
        yield from _find_in(value, (*path, "metadata", key))
    for name, members in (("any", given.any_of), ("all", given.all_of)):
        for place, member in enumerate(members or ()):
            yield from _find(member, (*path, name, place))
    if given.negated is not None:
        yield from _find(given.negated, (*path, "not"))


def _find_in(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if advice(key) is not None:
                yield (*path, key)
            yield from _find_in(inner, (*path, key))


async def check(db: Reading, given: Filters) -> None:
    """Raises BadRequest for a key such as `eq` in an object, unless a document that the caller sees has that key.

    Raises Forbidden instead if it is in the filters of the caller's API key or token. The database is read only if the
    filters have such a key.
    """
    if unknown := await _first_unknown(db, _find(given)):
        field, instead = unstorable_json.path_of(("filters", *unknown)), advice(str(unknown[-1]))
        raise errors.BadRequest(f"This is no operator, and no document has such a key: {instead}.", field=field)
    if db.restriction is not None and (unknown := await _first_unknown(db, _find(db.restriction.filters))):
        field, instead = unstorable_json.path_of(unknown), advice(str(unknown[-1]))
        raise errors.Forbidden(f"The filters of this key or token have no such operator ({field}): {instead}.")


async def _first_unknown(db: Reading, found: Iterable[Path]) -> Path | None:
    """The first of the keys that is in no document that the caller sees."""
    by_path = {}
    for one in islice(found, MAX_CHECKED):
        keys = one[one.index("metadata") + 1 :]
        by_path["strict $" + "".join(f".{json.dumps(key)}" for key in keys)] = one
    if not by_path:
        return None
    visible = filters.binds(filters.visible(db, Filters()))
    binds = {"user_id": db.user_id, "paths": list(by_path), **visible}
    absent = set(await db.scalars(sql.statement("nested_keys", *visible), binds))
    return next((one for path, one in by_path.items() if path in absent), None)
