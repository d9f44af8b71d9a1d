"""What does a hit hold literally of what was asked for?"""

from __future__ import annotations

import re

from app.shapes import ParsedQuery

_WORDS = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"\S*[\w]\S*")
SHORTEST_TITLE = 4
"""Characters that a title must have to count as named by a question: shorter ones stand in questions by chance."""


def reasons(parsed: ParsedQuery, *, title: str, content: str) -> tuple[str, ...]:
    """Why a hit is an exact one: any of `phrase`, `identifier`, `title`; empty where it is not."""
    text = _spaced(f"{title} {content}")
    found = []
    if parsed.phrases and all(_spaced(phrase).strip() and _spaced(phrase) in text for phrase in parsed.phrases):
        found.append("phrase")
    if parsed.query_type == "technical" and _holds_identifier(parsed.words, f"{title} {content}"):
        found.append("identifier")
    named = _spaced(title)
    if len(named.strip()) >= SHORTEST_TITLE and named in _spaced(parsed.words):
        found.append("title")
    return tuple(found)


def _holds_identifier(words: str, text: str) -> bool:
    lowered = text.casefold()
    return any(
        word in lowered
        for word in (match[0].casefold() for match in _IDENTIFIER.finditer(words))
        if re.search(r"[\d_./:-]", word) and len(word) > 2
    )


def _spaced(text: str) -> str:
    """The words of a text, each between single spaces, so that `in` compares whole words."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
