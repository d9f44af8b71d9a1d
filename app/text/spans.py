"""Where in a query do names stand?"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from app.text import names

_WHO = frozenset(["who", "whom", "whose", "wer", "wen", "wem", "wessen", "qui", "quien", "quienes", "quem", "chi"])
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


def is_written_large(text: str, key: str) -> bool:
    """Whether the text writes a name as one: each of its telling words with a capital or a digit, and not because a
    sentence begins with the only one."""
    wanted = key.split(" ")
    found = [match for match in _WORD.finditer(text) if names.words(match[0])]
    told = [names.words(match[0])[0] for match in found]
    for start in range(len(found) - len(wanted) + 1):
        if told[start : start + len(wanted)] == wanted:
            telling = [match for match in found[start : start + len(wanted)] if names.is_telling(names.words(match[0]))]
            if _are_large(telling, text):
                return True
    return False


def holds_large(text: str) -> bool:
    """Whether a word is written with a capital that no sentence begins with."""
    return any(match[0][0].isupper() and not _opens(text, match.start()) for match in _WORD.finditer(text))


def asks_for(text: str, kind: str) -> bool:
    """Whether a query asks for an entity of a kind: who does something, or which one of that kind ("which vendor")."""
    told = names.words(text)
    return not _WHO.isdisjoint(told) or any(word in told for word in (*names.words(kind), *names.words(f"{kind}s")))


def _are_large(telling: Sequence[re.Match[str]], text: str) -> bool:
    large = all(not match[0][0].islower() for match in telling)
    return large and (len(telling) > 1 or any(not _opens(text, match.start()) for match in telling))


def _opens(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"'“‘«([")
    return not before or before[-1] in ".!?:;…"


def _at(words: list[str], start: int, width: int) -> str:
    return " ".join(words[start : start + width])
