"""Finds the parts of a query that a hit contains literally: phrases, identifiers, or the hit's own title."""

from __future__ import annotations

import re

from app.shapes import ParsedQuery

_WORDS = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"\S*[\w]\S*")
MIN_TITLE_LENGTH = 4
"""Characters of the shortest title that is matched: shorter ones occur in queries by chance."""


def reasons(parsed: ParsedQuery, *, title: str, content: str) -> tuple[str, ...]:
    """Returns the literal matches of a hit: any of `phrase`, `identifier`, `title`."""
    text = _spaced(f"{title} {content}")
    found = []
    if parsed.phrases and all(_spaced(phrase).strip() and _spaced(phrase) in text for phrase in parsed.phrases):
        found.append("phrase")
    if parsed.query_type == "technical" and _contains_identifier(parsed.words, f"{title} {content}"):
        found.append("identifier")
    spaced_title = _spaced(title)
    if len(spaced_title.strip()) >= MIN_TITLE_LENGTH and spaced_title in _spaced(parsed.words):
        found.append("title")
    return tuple(found)


def _contains_identifier(words: str, text: str) -> bool:
    lowered = text.casefold()
    return any(
        word in lowered
        for word in (match[0].casefold() for match in _IDENTIFIER.finditer(words))
        if re.search(r"[\d_./:-]", word) and len(word) > 2
    )


def _spaced(text: str) -> str:
    """Returns the words of a text, each between single spaces, so that `in` compares whole words."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
