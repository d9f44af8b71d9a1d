"""Whose name may this single word be a part of?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.text import names

SHORTEST = 3
"""Letters of a part; initials say too little."""


def of(keys: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The keys of several words by their first and their last word."""
    found: dict[str, dict[str, None]] = {}
    for key in keys:
        told = key.split(" ")
        if len(told) > 1:
            for word in (told[0], told[-1]):
                if len(word) >= SHORTEST and names.is_telling([word]):
                    found.setdefault(word, {})[key] = None
    return {word: tuple(known) for word, known in found.items()}
