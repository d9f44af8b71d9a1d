"""Converts metadata to plain JSON, as Postgres returns it, and enforces the limits on its size and depth."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_KEYS = 1_000
MAX_VALUES = 10_000
MAX_INTEGER = 2**63
LONGEST_INTEGER = 10**1_000
_WRITTEN_OUT = 10**16
_STORED_DIFFERENTLY = re.compile(r"e\+1|-0\.0")
"""Matches every JSON text with a float that `_number` changes."""


class TooLargeError(ValueError):
    """Metadata exceeds a limit. The message names the limit; `code` is `too_deep`, `too_many_keys` or `too_large`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def to_json(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns metadata with string keys; entries without a JSON value (NaN, infinities) are dropped.

    Raises TooLargeError as `check` does, and for more than 10,000 values.
    """
    return check(_Plain().mapping(value, 1))


def check(metadata: dict[str, Any]) -> dict[str, Any]:
    """Returns metadata as Postgres returns it: some floats, such as 1e16, become integers.

    Raises TooLargeError for more than 32 levels, 1,000 keys on all levels or 64 KB.
    """
    keys, depth = _count_keys_and_depth(metadata)
    if depth > MAX_DEPTH:
        raise TooLargeError("too_deep", f"is nested deeper than {MAX_DEPTH}")
    if keys > MAX_KEYS:
        raise TooLargeError("too_many_keys", f"has more than {MAX_KEYS:,} keys")
    if _STORED_DIFFERENTLY.search(text := _write(metadata)):
        metadata = json.loads(text, parse_float=_number)
        _write(metadata)
    return metadata


def join(found: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Joins found and given metadata. If the result exceeds a limit, returns the given metadata and a warning."""
    if not found:
        return dict(given), ()
    try:
        return check({**found, **given}), ()
    except TooLargeError as error:
        return dict(given), (f"metadata {error}: that of the document itself is left out",)


def _write(metadata: dict[str, Any]) -> str:
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > MAX_BYTES:
        raise TooLargeError("too_large", f"is over {MAX_BYTES // 1024} KB")
    return text


def _count_keys_and_depth(value: object) -> tuple[int, int]:
    """The number of keys on all levels, and the nesting depth. Counting stops one level below the limit."""
    keys, depth = 0, 0
    level = [value]
    while level and depth <= MAX_DEPTH:
        containers = [v for v in level if isinstance(v, dict | list)]
        keys += sum(len(v) for v in containers if isinstance(v, dict))
        depth += bool(containers)
        level = [item for v in containers for item in (v.values() if isinstance(v, dict) else v)]
    return keys, depth


class _Plain:
    """Converts the objects of YAML to plain JSON and limits their number, because aliases can multiply them."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        """Returns a dictionary with string keys; entries without a JSON value are dropped."""
        found = {}
        for key, item in value.items():
            name = "null" if key is None else str(self._value(key, MAX_DEPTH))
            if (kept := self._value(item, depth + 1)) is not ...:
                found[name] = kept
        return found

    def _value(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooLargeError("too_large", f"has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH + 1:
            raise TooLargeError("too_deep", f"is nested deeper than {MAX_DEPTH}")
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            items = (self._value(item, depth + 1) for item in value)
            return [item for item in items if item is not ...]
        return _scalar(value)


def _scalar(value: object) -> object:
    """Returns a JSON scalar, or `...` for values without one (NaN and infinities)."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else ...
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) < MAX_INTEGER:
            return value
        return str(value) if abs(value) < LONGEST_INTEGER else hex(value)  # more decimal digits would take long
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").replace("\x00", "")
    if isinstance(value, str):
        return re.sub("[\x00\ud800-\udfff]", "", value)
    return value if value is None or isinstance(value, bool) else str(value)


def _number(digits: str) -> int | float:
    """A finite float as Postgres returns it. Numbers beyond 64 bits are read as floats again."""
    # From 1e16 on, Python writes a float with an exponent, which Postgres writes out as digits without a fraction.
    if _WRITTEN_OUT <= abs(float(digits)) < MAX_INTEGER:
        return int(Decimal(digits))
    return float(digits) or 0.0
