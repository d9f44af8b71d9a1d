"""Finds the words of a question that could be a name: what `incidental` calls authors and teams by."""

from __future__ import annotations

import itertools
import re

from app.text.words import stop_words

_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")


def capitalised(text: str) -> list[str]:
    """Returns the runs of capitalised words, without function words and numbers at their start."""
    runs: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        if not match[0][0].isupper() or text[end : match.start()].strip():
            runs.append([])
        if match[0][0].isupper() and (runs[-1] or _is_distinctive(match[0])):
            runs[-1].append(match[0])
        end = match.end()
    return [" ".join(run) for run in runs if run]


def pairs(text: str) -> list[str]:
    """Returns the distinctive words that stand next to each other, capitalised, as a first and a last name."""
    pairs = itertools.pairwise(_WORD.findall(text))
    return [f"{one} {other}".title() for one, other in pairs if _is_distinctive(one) and _is_distinctive(other)]


def _is_distinctive(word: str) -> bool:
    return word.lower() not in stop_words.FUNCTION_WORDS | stop_words.SENTENCE_WORDS and word.isalpha()
