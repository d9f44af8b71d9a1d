"""Reads the symbols of short names: "C++", "K&V", ".NET".

Names are compared by words, without punctuation. In a short name symbols are what tells it from a letter or a word, so
it is compared with them; in a longer one they are punctuation.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence

from app.text.names import names

MAX_LETTERS = 4
"""Letters and digits of the longest name in which symbols count."""
MAX_LENGTH = 12
"""Characters of the longest name in which symbols count."""
_OTHERS = frozenset("&#@%*/\\")
_EMPHASIS = "*"
"""A symbol inside a name only: around one it is a mark of Markdown."""
_PLUS = frozenset("&+#")

Offsets = Sequence[tuple[int, int]]
"""The first character of each word of a text and the one after its last."""


def key(name: str) -> str | None:
    """Returns the key of a short name with symbols, or None for another one."""
    if len(name) > MAX_LENGTH or name.replace(" ", "").isalnum():
        return None
    words = names.words(name)
    if not words or sum(map(len, words)) > MAX_LETTERS:
        return None
    offsets = names.word_offsets(name)
    before = _run_before(name, offsets[0][0])
    after = _run_after(name, offsets[-1][1])
    within = _within(name, offsets)
    if not (before or after or any(within)):
        return None
    return before + _join(words, within) + after


def stands(key: str, text: str, offsets: Offsets, words: Sequence[str]) -> bool:
    """Returns whether a text has the short name with this key, with its symbols, at words with these offsets."""
    core = _join(words, _within(text, offsets))
    before, found, after = key.partition(core)
    if not found or not words:
        return False
    start, end = offsets[0][0] - len(before), offsets[-1][1] + len(after)
    return (
        start >= 0
        and text[start : offsets[0][0]] == before
        and text[offsets[-1][1] : end] == after
        and not (before and _continues_before(text, start))
        and not (after and _continues_after(text, end))
    )


def is_part(text: str, start: int, end: int) -> bool:
    """Returns whether a symbol beside a letter makes it part of another name: the C of "C++", the K of "K&V"."""
    return text[end : end + 1] in _PLUS or (start > 0 and text[start - 1] in _PLUS)


def _join(words: Sequence[str], within: Sequence[str]) -> str:
    return words[0] + "".join(f"{symbols or ' '}{word}" for symbols, word in zip(within, words[1:], strict=True))


def _within(text: str, offsets: Offsets) -> list[str]:
    """The symbols between the words of a text; none where other punctuation stands between two."""
    gaps = (text[end:start] for (_first, end), (start, _last) in itertools.pairwise(offsets))
    bare = (re.sub(r"\s+", "", gap) for gap in gaps)
    return [gap if all(map(_is_symbol, gap)) else "" for gap in bare]


def _run_before(text: str, end: int) -> str:
    start = end
    while start and text[start - 1] != _EMPHASIS and (_is_symbol(text[start - 1]) or text[start - 1] == "."):
        start -= 1
    return text[start:end]


def _run_after(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end] != _EMPHASIS and _is_symbol(text[end]):
        end += 1
    return text[start:end]


def _continues_before(text: str, start: int) -> bool:
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] == text[start])


def _continues_after(text: str, end: int) -> bool:
    return end < len(text) and (text[end].isalpha() or text[end] == text[end - 1])


def _is_symbol(character: str) -> bool:
    return character in _OTHERS or unicodedata.category(character) in ("Sm", "Sc")
