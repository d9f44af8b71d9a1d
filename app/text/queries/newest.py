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


def is_asked(query: str) -> bool:
    """Whether a query asks for the newest: "latest", "newest" or "most recent", also in six other languages.

    What is quoted is a title or a phrase, and does not count.
    """
    return _ASKED.search(_QUOTED.sub(" ", query)) is not None
