"""Builds predicates of SQL/JSON paths on a document's metadata, for `jsonb_path_exists`.

The variable $moments is an object of the dates and times in the metadata, by key: lists of microseconds since 1970.
The paths are strict, because lax ones unwrap lists inside lists. In a strict path a predicate is unknown, not false,
for an absent key or a value of another type; `path` and `negated` treat unknown as false.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.text import dates

ALWAYS, NEVER = "(1 == 1)", "(1 == 0)"
_COMPARISONS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


def path(predicates: Iterable[str]) -> str:
    """The path that exists where all predicates hold."""
    return f"strict $ ? {every(predicates)}"


def every(predicates: Iterable[str]) -> str:
    """Holds where all predicates hold; always without predicates."""
    joined = " && ".join(predicates)
    return f"({joined})" if joined else ALWAYS


def either(predicates: Iterable[str]) -> str:
    """Holds where one of the predicates holds; never without predicates."""
    joined = " || ".join(predicates)
    return f"({joined})" if joined else NEVER


def negate(predicate: str) -> str:
    """Holds where the predicate is false or unknown."""
    return f"!exists(@ ? ({predicate}))"


def present(key: str) -> str:
    """Holds where the metadata has the key, even with the value null."""
    return f"exists({_at(key)})"


def equal(key: str, scalars: Iterable[Any]) -> str:
    """Holds where the value of the key, or an element of it if it is a list, is one of the scalars."""
    literals = [json.dumps(scalar) for scalar in scalars]
    return value_or_element(key, lambda value: either(f"{value} == {literal}" for literal in literals))


def value_or_element(key: str, predicate: Callable[[str], str]) -> str:
    """Holds where the predicate, made for a place, holds for the value of the key or for an element of it."""
    return f"({predicate(_at(key))} || exists({_at(key)}[*] ? ({predicate('@')})))"


def in_range(key: str, bounds: Mapping[str, Any]) -> str:
    """Holds where the value of the key, or an element of it if it is a list, lies within the bounds.

    Numbers are compared with numbers, and dates and times in ISO 8601 with such strings. Raises ValueError for a string
    that is none.
    """
    if not any(isinstance(bound, str) for bound in bounds.values()):
        return value_or_element(key, lambda value: _within(value, bounds))
    return moments_in_range(key, bounds, moments="$moments") or NEVER


def moments_in_range(key: str, bounds: Mapping[str, Any], *, moments: str = "@.moments") -> str:
    """The same for dates and times only, by default as a predicate of the column `moments`; empty with a number."""
    limits = {operator: _microseconds(bound) for operator, bound in bounds.items() if isinstance(bound, str)}
    if len(limits) < len(bounds):
        return ""
    return f"exists({moments}.{json.dumps(key)}[*] ? ({_within('@', limits)}))"


def _microseconds(bound: str) -> int:
    read = dates.microseconds(bound)
    if read is None:
        raise ValueError(f"{bound!r} is not a date or time in ISO 8601")
    return read


def contained(key: str, value: Any) -> str:
    """Holds where the value of the key contains `value` as `@>` does."""
    return _contains(_at(key), value)


def variable(name: str, values: Iterable[str]) -> str:
    """Holds where a variable of the path is one of the values."""
    return either(f"${name} == {json.dumps(value)}" for value in values)


def begins(name: str, prefixes: Iterable[str]) -> str:
    """Holds where a variable of the path begins with one of the prefixes."""
    return either(f"${name} starts with {json.dumps(prefix)}" for prefix in prefixes)


def has_suffix(name: str, key: str, suffixes: Iterable[str]) -> str:
    """Holds where a variable, or the value of a key, names a file with one of the suffixes; a fragment may follow."""
    pattern = json.dumps(rf"\.({'|'.join(map(re.escape, suffixes))})(#.*)?$")
    return either(f'{place} like_regex {pattern} flag "i"' for place in (f"${name}", _at(key)))


def _at(key: str) -> str:
    return f"@.{json.dumps(key)}"


def _within(value: str, bounds: Mapping[str, float]) -> str:
    return every(f"{value} {_COMPARISONS[operator]} {json.dumps(bound)}" for operator, bound in bounds.items())


def _contains(place: str, value: Any) -> str:
    if isinstance(value, Mapping):
        members = [_contains(f"{place}.{json.dumps(key)}", member) for key, member in value.items()]
        return every([f'{place}.type() == "object"', *members])
    if isinstance(value, list | tuple):
        elements = [f"exists({place}[*] ? ({_contains('@', element)}))" for element in value]
        return every([f'{place}.type() == "array"', *elements])
    return f"{place} == {json.dumps(value)}"
