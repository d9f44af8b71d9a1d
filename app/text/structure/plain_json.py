"""Converts values from YAML and from parsed files to plain JSON within limits of depth and number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

MAX_DEPTH = 32
MAX_VALUES = 10_000
MAX_INTEGER = 2**63


class TooLargeError(ValueError):
    """The value has too many parts, or is nested too deeply; the message gives the limit."""


def mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns a dictionary with string keys; entries without a JSON value (NaN, infinities) are dropped.

    Raises TooLargeError for more than 10,000 values or a depth over 32.
    """
    return _Plain().mapping(value, 1)


class _Plain:
    """Converts the objects of YAML to plain JSON and limits their number, because aliases can multiply them."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        """Returns a dictionary with string keys; entries without a JSON value are dropped."""
        entries = ((self._key(key), self._value(item, depth + 1)) for key, item in value.items())
        return {key: item for key, item in entries if item is not ...}

    def _key(self, key: object) -> str:
        return str(self._value(key, MAX_DEPTH)) if key is not None else "null"

    def _value(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooLargeError(f"has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH + 1:
            raise TooLargeError(f"is nested deeper than {MAX_DEPTH}")
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
        return value if abs(value) < MAX_INTEGER else hex(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").replace("\x00", "")
    if isinstance(value, str):
        return re.sub("[\x00\ud800-\udfff]", "", value)
    return value if value is None or isinstance(value, bool) else str(value)
