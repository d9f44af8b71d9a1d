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
_NAME = re.compile(rf"[^\W\d][\w.{characters.MARK}-]{{0,63}}")
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

    A key that is not an identifier is replaced by `(key)`.
    """
    names = (step if isinstance(step, int) or _NAME.fullmatch(step) else "(key)" for step in steps)
    path = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names)
    return path.lstrip(".")[:160] or otherwise
