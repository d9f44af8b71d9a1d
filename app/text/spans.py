"""Where in a query do names stand?"""

from __future__ import annotations

import re
from collections.abc import Collection

from app.text import names

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def longest(text: str, keys: Collection[str]) -> set[str]:
    """Those of the keys that stand in the text outside of longer ones: leftmost first, the longest at each place."""
    words = names.words(text)
    found: set[str] = set()
    at = 0
    while at < len(words):
        width = next((n for n in range(min(names.LONGEST, len(words) - at), 0, -1) if _at(words, at, n) in keys), 0)
        if width:
            found.add(_at(words, at, width))
        at += max(width, 1)
    return found


def is_written_large(text: str, word: str) -> bool:
    """Whether the word stands in the text with a capital although it does not begin a sentence."""
    return any(
        match[0][0].isupper() and names.words(match[0])[:1] == [word] and not _opens(text, match.start())
        for match in _WORD.finditer(text)
    )


def _opens(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'“‘«([")
    return not before or before[-1] in ".!?:;…"


def _at(words: list[str], start: int, width: int) -> str:
    return " ".join(words[start : start + width])
