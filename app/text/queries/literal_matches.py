"""Finds the parts of a query that a hit contains literally: phrases, identifiers, or the hit's own title."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from app.text.queries import analysis
from app.text.queries.parsed_query import ParsedQuery
from app.text.words import characters

_LETTER = rf"[^\W{characters.UNSPACED}]"
_WORDS = re.compile(rf"{_LETTER}+|[{characters.UNSPACED}]")
MIN_TITLE_LENGTH = 4
"""Characters of the shortest title that is matched: shorter ones occur in queries by chance."""


def reasons(parsed: ParsedQuery, *, title: str, content: str) -> tuple[str, ...]:
    """Returns the literal matches of a hit: any of `phrase`, `identifier`, `title`.

    `content` includes the headings above the text.
    """
    found = []
    if parsed.phrases and _contains_phrases(parsed.phrases, _space(f"{title} {content}")):
        found.append("phrase")
    if parsed.query_type == "technical" and _contains_identifier(parsed.words, f"{title} {content}"):
        found.append("identifier")
    spaced_title = _space(title)
    if len(spaced_title.strip()) >= MIN_TITLE_LENGTH and spaced_title in _spaced_query(parsed.words):
        found.append("title")
    return tuple(found)


def _contains_phrases(phrases: Iterable[str], text: str) -> bool:
    return all(phrase.strip() and phrase in text for phrase in map(_space, phrases))


def _contains_identifier(words: str, text: str) -> bool:
    folded = text.casefold()
    return any(_whole(identifier.casefold()).search(folded) for identifier in analysis.identifiers(words))


def _whole(identifier: str) -> re.Pattern[str]:
    """Returns a pattern of an identifier that is not part of a longer one ("ERR_40" in "ERR_4012", "1.2" in "1.2.3").

    Letters of a script without spaces may adjoin it.
    """
    before = rf"(?<!{_LETTER})(?<!{_LETTER}[-.:])"
    after = rf"(?!{_LETTER})(?![-.:]{_LETTER})"
    return re.compile(f"{before}{re.escape(identifier)}{after}")


def _space(text: str) -> str:
    """Returns the words of a text, each between single spaces, so that `in` compares whole words.

    In scripts without spaces each character is a word.
    """
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


@lru_cache(maxsize=64)
def _spaced_query(words: str) -> str:
    """Returns the words of a query like `_spaced`; they are the same for each hit of an answer."""
    return _space(words)
