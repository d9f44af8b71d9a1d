"""Indexes names of several words by their first and last word."""

from __future__ import annotations

from collections.abc import Mapping

from app.text import names
from app.text.gazetteer import Gazetteer

SHORTEST = 3
"""Letters of a part; initials say too little."""


def of(known: Gazetteer) -> Mapping[str, tuple[str, ...]]:
    """The keys of names of several words, and of joined ones, by their first and their last word."""
    found: dict[str, dict[str, None]] = {}
    whole = known.keys()
    spelt = [(key, (key,)) for key in whole if " " in key]
    for told, keys in (*spelt, *known.apart().items()):
        words = told.split(" ")
        for word in (words[0], words[-1]):
            if len(word) >= SHORTEST and names.is_telling([word]):
                found.setdefault(word, {}).update(dict.fromkeys(keys))
    return {word: tuple(known) for word, known in found.items()}
