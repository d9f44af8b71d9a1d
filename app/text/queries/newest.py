"""Recognises queries that ask for the newest of something."""

from __future__ import annotations

import re

_ASKED = re.compile(
    r"(?<![\w-])(?:latest|newest|most\s+recent(?:ly)?"
    r"|(?:aller)?neue?ste[mnrs]?|aktuellste[mnrs]?"
    r"|nieuwste|meest\s+recente"
    r"|(?:plus\s+récente?s?|más\s+recientes?|più\s+recent[ei]|mais\s+recentes?)(?!\s+qu))(?![\w-])",
    re.IGNORECASE,
)
"""Superlatives alone: "recent", "current" and "last" mostly restrict a question and do not ask for the newest; "plus
récent que" compares."""
_QUOTED = re.compile(r"[\"“”„«][^\"“”„«»]*[\"“”»]|(?<!\w)['‘][^'‘’]*['’](?!\w)")
_DATED = re.compile(
    r"(?<![\w.-])(?:(?:1[89]|20)\d\d(?:[-/.]?(?:0?[1-9]|1[0-2])(?:[-/.]?[0-3]?\d)?)?|[0-3]?\d\.\s?[01]?\d\.\d{2,4})(?![\w-])"
)
"""A year from 1800 to 2099, alone or with a month and a day."""


def is_asked(query: str) -> bool:
    """Whether a query asks for the newest: "latest", "newest" or "most recent", also in six other languages.

    What is quoted is a title or a phrase, and does not count. One that names a date asks for the newest of that time.
    """
    unquoted = _QUOTED.sub(" ", query)
    return _ASKED.search(unquoted) is not None and _DATED.search(unquoted) is None
