"""Translates filters to the parts and binds of the fragment `passes_filters`.

Containment (`@>`) uses the GIN index on metadata; JSON paths do not. If a condition implies that the metadata contains
one of several JSON objects, it is written as a list of these: `{"team": "tide"}` as `{"team": "tide"}` and `{"team":
["tide"]}`. If the list does not imply the condition, a JSON path checks it too.

In these paths $moments is an object of the dates and times in the metadata, by key: lists of microseconds since 1970.
The paths are strict, because lax paths unwrap lists inside lists. In a strict path a predicate is unknown, not false,
for an absent key or a value of another type; `_path` and `_negate` treat unknown as false.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from app import errors
from app.database.filter_types import BOUNDS, Filters, Restriction, is_operator_object
from app.database.transactions import Reading
from app.enums import Json
from app.text import iso_dates, uris

MAX_LISTS = 3
"""Most lists of objects in one statement. The shortest lists are chosen."""
MAX_OBJECTS = 256
"""Most objects in a list. The metadata of a document is compared with each of them."""
_COMPARISONS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


METADATA, DOCUMENT, SOURCE = range(3)
_PARTS = ("matching", "matching_document", "matching_source")
"""Parts of the fragment: without variables, with variables of the document, and also with its source's name."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition as a predicate of a JSON path, and as a list of objects: the metadata contains one of them.

    `containing` is empty if the condition implies no such list. `exact` is set if the list implies the condition.
    `part` is the part of the fragment with the variables of the predicate. `of_moments` is a faster predicate on only
    the dates in the metadata, if there is one.
    """

    predicate: str
    containing: tuple[Json, ...] = ()
    exact: bool = False
    part: int = METADATA
    of_moments: str = ""


def restriction(filters: Filters, *, shows_entities: bool = False) -> Restriction:
    """The restriction of a caller to the documents that pass the filters.

    Raises BadRequest for names of sources: a source is visible if one of its documents is, and its name may change.
    """
    condition = _all(filters)
    if condition.part == SOURCE:
        raise errors.BadRequest("A key or token names sources by their ids: use source_ids.", field="filters")
    path = _path([condition.predicate])
    audience = hashlib.sha256(f"{shows_entities} {path}".encode()).hexdigest()[:32]
    return Restriction(filters, path, condition.part == DOCUMENT, shows_entities, audience)


def both(filters: Filters, others: Filters) -> Filters:
    """Joins two filters: a document must pass both."""
    if not filters or not others:
        return filters or others
    return Filters(all_of=(filters, others))


def visible(db: Reading, filters: Filters) -> Filters:
    """Restricts filters to the documents that the transaction's caller sees, by the caller's list if there is one."""
    if db.restriction is None:
        return filters
    if db.listed is None:
        return both(filters, db.restriction.filters)
    wanted = db.listed.document_ids
    if filters.document_ids is not None:
        asked = set(filters.document_ids)
        wanted = tuple(document_id for document_id in wanted if document_id in asked)
    return replace(filters, document_ids=wanted)


def spellings(names: Sequence[str]) -> list[str]:
    """Names of sources as written, and in each form that Postgres may give them in lower case.

    It may lower fewer letters than Python, or each letter by itself: Σ at the end of a word and İ differ then.
    """
    forms = ((name.lower(), "".join(one.lower()[0] for one in name), name.casefold(), name) for name in names)
    return list(dict.fromkeys(chain.from_iterable(forms)))


def parts(filters: Filters) -> tuple[str, ...]:
    """The parts of a statement that filters documents: `filtered`, and the parts of `passes_filters`."""
    return ("filtered", *binds(filters)) if filters else ()


def binds(filters: Filters) -> dict[str, Any]:
    """The binds of `passes_filters` that the filters need. Each has a part with the same name."""
    if not filters:
        return {}
    metadata = filters.metadata or {}
    contained = {key: value for key, value in metadata.items() if _is_contained(value)}
    others = {key: value for key, value in metadata.items() if key not in contained}
    prefixes = filters.uri_prefixes
    conditions = [*_metadata(others), *_of_uri(filters, prefixes[1:]), *_groups(filters)]
    listed = sorted((one for one in conditions if one.containing), key=lambda one: len(one.containing))[:MAX_LISTS]
    rest = [one for one in conditions if not (one.exact and one in listed)]
    found = {
        "document_ids": None if filters.document_ids is None else list(filters.document_ids),
        "source_ids": None if filters.source_ids is None else list(filters.source_ids),
        "source_names": None if filters.source_names is None else spellings(filters.source_names),
        "containing": json.dumps(contained) if contained else None,
        **{f"containing_{place}": list(map(json.dumps, one.containing)) for place, one in enumerate(listed, start=1)},
        **_paths(rest),
        "uri_prefixes": uris.spellings(prefixes[0]) if prefixes else None,
        "created_after": filters.created_after,
        "created_before": filters.created_before,
    }
    return {name: value for name, value in found.items() if value is not None}


def _paths(conditions: Sequence[_Condition]) -> dict[str, str]:
    """The JSON paths of conditions by the variables that they use."""
    by_part: dict[str, list[str]] = {}
    for one in conditions:
        part = "matching_moments" if one.of_moments else _PARTS[one.part]
        by_part.setdefault(part, []).append(one.of_moments or one.predicate)
    return {part: _path(predicates) for part, predicates in by_part.items()}


def _is_contained(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and not is_operator_object(value)


def _metadata(metadata: Json) -> Iterator[_Condition]:
    for key, value in metadata.items():
        if is_operator_object(value):
            yield from _operators(key, value)
        elif _is_contained(value):
            yield _Condition(_contains(_at(key), value), ({key: value},), exact=True)
        else:
            yield _equal(key, [value])


def _operators(key: str, given: Mapping[str, Any]) -> Iterator[_Condition]:
    """The conditions of an operator object. Raises ValueError for an unknown operator."""
    bounds = {operator: bound for operator, bound in given.items() if operator in BOUNDS}
    if bounds:
        of_moments = _moments_in_range(key, bounds)
        yield _Condition(_in_range(key, bounds), part=DOCUMENT if of_moments else METADATA, of_moments=of_moments)
    for operator, operand in given.items():
        if operator not in bounds:
            if operator not in _OPERATORS:
                raise ValueError(f"unknown operator {operator}")
            yield _OPERATORS[operator](key, operand)


def _equal(key: str, scalars: Sequence[Any]) -> _Condition:
    forms = tuple({key: form} for scalar in scalars for form in (scalar, [scalar]))
    return _with_list(_is_one_of(key, scalars), forms, exact=True)


def _exists(key: str, wanted: bool) -> _Condition:
    present = f"exists({_at(key)})"
    return _Condition(present if wanted else _negate(present))


_OPERATORS: Mapping[str, Callable[[str, Any], _Condition]] = {
    "in": _equal,
    "ne": lambda key, scalar: _Condition(_negate(_is_one_of(key, [scalar]))),
    "exists": _exists,
}
"""The condition of each operator of `OPERANDS` on the value of a key."""


def _with_list(predicate: str, containing: tuple[Json, ...], *, exact: bool) -> _Condition:
    """A condition with its list. An empty or too long list is omitted."""
    usable = 0 < len(containing) <= MAX_OBJECTS
    return _Condition(predicate, containing if usable else (), exact=usable and exact)


def _groups(filters: Filters) -> Iterator[_Condition]:
    if filters.any_of is not None:
        members = [_all(member) for member in filters.any_of]
        is_listed = all(member.containing for member in members)
        listed = _with_list(
            _either(member.predicate for member in members),
            tuple(chain.from_iterable(member.containing for member in members)) if is_listed else (),
            exact=all(member.exact for member in members),
        )
        yield replace(listed, part=max((member.part for member in members), default=METADATA))
    if filters.all_of is not None:
        yield from (_all(member) for member in filters.all_of)
    if filters.negated is not None:
        inner = _all(filters.negated)
        yield _Condition(_negate(inner.predicate), part=inner.part)


def _all(filters: Filters) -> _Condition:
    """The filters of a group as one condition. Its list is the shortest list of its conditions."""
    conditions = [*_of_document(filters), *_metadata(filters.metadata or {}), *_groups(filters)]
    lists = [condition.containing for condition in conditions if condition.containing]
    return _Condition(
        _every(condition.predicate for condition in conditions),
        min(lists, key=len, default=()),
        exact=len(conditions) == 1 and conditions[0].exact,
        part=max((condition.part for condition in conditions), default=METADATA),
    )


def _of_document(filters: Filters) -> Iterator[_Condition]:
    """The conditions of a group on the id, the source, the creation time and the URI of a document."""
    if filters.source_names is not None:
        named = _variable("source_name", spellings(filters.source_names))
        yield _Condition(named, part=SOURCE)
    predicates = []
    for name, ids in (("document", filters.document_ids), ("source", filters.source_ids)):
        if ids is not None:
            predicates.append(_variable(name, map(str, ids)))
    if filters.created_after is not None:
        predicates.append(f"$created >= {iso_dates.since_1970(filters.created_after)}")
    if filters.created_before is not None:
        predicates.append(f"$created < {iso_dates.since_1970(filters.created_before)}")
    yield from (_Condition(predicate, part=DOCUMENT) for predicate in predicates)
    yield from _of_uri(filters, filters.uri_prefixes)


def _of_uri(filters: Filters, prefixes: Sequence[str]) -> Iterator[_Condition]:
    """The conditions on the URI of a document. File types also match the `filename` in the metadata."""
    for prefix in prefixes:
        begins = (f"$uri starts with {json.dumps(spelling)}" for spelling in uris.spellings(prefix))
        yield _Condition(_either(begins), part=DOCUMENT)
    if filters.file_types is not None:
        pattern = json.dumps(rf"\.({'|'.join(map(re.escape, filters.file_types))})(#.*)?$")  # a fragment may follow
        places = ("$uri", _at("filename"))
        yield _Condition(_either(f'{place} like_regex {pattern} flag "i"' for place in places), part=DOCUMENT)


def _path(predicates: Iterable[str]) -> str:
    """The path that exists where all predicates hold."""
    return f"strict $ ? {_every(predicates)}"


def _every(predicates: Iterable[str]) -> str:
    """Holds where all predicates hold; always without predicates."""
    return f"({' && '.join(predicates) or '1 == 1'})"


def _either(predicates: Iterable[str]) -> str:
    """Holds where one of the predicates holds; never without predicates."""
    return f"({' || '.join(predicates) or '1 == 0'})"


def _negate(predicate: str) -> str:
    """Holds where the predicate is false or unknown."""
    return f"!exists(@ ? ({predicate}))"


def _is_one_of(key: str, scalars: Iterable[Any]) -> str:
    """Holds where the value of the key, or an element of it if it is a list, is one of the scalars."""
    literals = [json.dumps(scalar) for scalar in scalars]
    return _value_or_element(key, lambda value: _either(f"{value} == {literal}" for literal in literals))


def _value_or_element(key: str, predicate: Callable[[str], str]) -> str:
    """Holds where `predicate` holds for the value of the key, or for an element of the value."""
    return f"({predicate(_at(key))} || exists({_at(key)}[*] ? ({predicate('@')})))"


def _in_range(key: str, bounds: Mapping[str, Any]) -> str:
    """Holds where the value of the key, or an element of it if it is a list, lies within the bounds.

    Numbers are compared with numbers, and dates and times with ISO 8601 strings. Raises ValueError for another string.
    """
    if not any(isinstance(bound, str) for bound in bounds.values()):
        return _value_or_element(key, lambda value: _within(value, bounds))
    return _moments_in_range(key, bounds, moments="$moments") or _either(())


def _moments_in_range(key: str, bounds: Mapping[str, Any], *, moments: str = "@.moments") -> str:
    """Like `_in_range`, only for dates and times, by default in the column `moments`. Empty if a bound is a number."""
    limits: dict[str, float] = {}
    for operator, bound in bounds.items():
        if isinstance(bound, str):
            if (moment := iso_dates.microseconds(bound)) is None:
                raise ValueError(f"{bound!r} is not a date or time in ISO 8601")
            limits[operator] = moment
    if len(limits) < len(bounds):
        return ""
    return f"exists({moments}.{json.dumps(key)}[*] ? ({_within('@', limits)}))"


def _variable(name: str, values: Iterable[str]) -> str:
    """Holds where a variable of the path is one of the values."""
    return _either(f"${name} == {json.dumps(value)}" for value in values)


def _at(key: str) -> str:
    return f"@.{json.dumps(key)}"


def _within(value: str, bounds: Mapping[str, float]) -> str:
    return _every(f"{value} {_COMPARISONS[operator]} {json.dumps(bound)}" for operator, bound in bounds.items())


def _contains(place: str, value: Any) -> str:
    if isinstance(value, Mapping):
        members = [_contains(f"{place}.{json.dumps(key)}", member) for key, member in value.items()]
        return _every([f'{place}.type() == "object"', *members])
    if isinstance(value, list | tuple):
        elements = [f"exists({place}[*] ? ({_contains('@', element)}))" for element in value]
        return _every([f'{place}.type() == "array"', *elements])
    return f"{place} == {json.dumps(value)}"
