"""Finds JSON values that Postgres cannot store, and formats the path of a value.

Postgres cannot store NUL, lone surrogates, or infinite and too large numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from app.text.words import characters

BAD_TEXT = "Must not contain the NUL character or a lone surrogate."
BAD_NUMBER = "Must be a finite number; whole numbers must fit into 64 bits."
INT64 = range(-(2**63), 2**63)
_LONGEST_NAME = 64
_NAME = re.compile(rf"[^\W\d][\w.{characters.MARK}-]{{0,{_LONGEST_NAME - 1}}}")
_MARKUP = frozenset("<>\"'`\\")
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")

UnusableValue = tuple[tuple[str | int, ...], str, str]
"""The path of a value, a code, and what to send instead."""


class BadNumber:
    """Stands for a number that a parser could not represent."""


def is_usable(text: str) -> bool:
    """Whether a text contains neither NUL nor a lone surrogate."""
    return _UNUSABLE.search(text) is None


def find_unusable(value: object, path: tuple[str | int, ...] = ()) -> Iterator[UnusableValue]:
    """Yields all numbers and texts in a JSON value that Postgres cannot store. The value has at most 64 levels."""
    if isinstance(value, float) and math.isfinite(value):
        return
    if isinstance(value, BadNumber | float) or (isinstance(value, int) and value not in INT64):
        yield path, "invalid_number", BAD_NUMBER
    elif isinstance(value, str) and not is_usable(value):
        yield path, "invalid_text", BAD_TEXT
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_unusable(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if not is_usable(key):
                yield (*path, key), "invalid_text", f"Its key is invalid. {BAD_TEXT}"
            yield from find_unusable(item, (*path, key))


def path_of(steps: Sequence[str | int], *, otherwise: str = "body") -> str:
    """Formats `("filters", "document_ids", 3)` as `filters.document_ids[3]`, in at most 160 characters.

    A key that is not an identifier is quoted, as in `metadata["Price (EUR)"]`. One that is long, not printable, or may
    be markup is replaced by `(key)`.
    """
    return "".join(map(_step, steps)).lstrip(".")[:160] or otherwise


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _NAME.fullmatch(step):
        return f".{step}"
    is_shown = len(step) <= _LONGEST_NAME and step.isprintable() and _MARKUP.isdisjoint(step)
    return f'["{step}"]' if is_shown else ".(key)"
