"""Interprets the author and the time in the properties of a file of any format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from app.enums import Json
from app.text.structure import frontmatter

_NOBODY = frozenset(
    {
        *("", "anonymous", "apache poi", "author", "microsoft office user", "openpyxl", "python-docx", "python-pptx"),
        *("unknown", "user", "windows user", "your user name"),
    }
)
"""What programs write as the author where they know no person."""

_SEPARATORS = [re.compile(";"), re.compile(r"\s*,(?:\s+and)?\s+|\s+(?:and|und|et|&)\s+"), re.compile(r"\s+and\s+")]
"""What stands between the names of several authors. The first that leaves whole names counts."""


def author(name: str) -> Json:
    """The author as metadata, a list if there are several; empty for what programs write where they know no person."""
    name = " ".join(name.split())  # the separators take quadratic time for many blanks
    if name.strip("()").casefold() in _NOBODY:
        return {}
    lists = (_split(separator, name) for separator in _SEPARATORS)
    return {"author": next((names for names in lists if len(names) > 1), name)}


def authors(names: Iterable[str]) -> Json:
    """The authors as metadata, as `author` makes it, of a file that names each of them alone."""
    people = list(dict.fromkeys(name for name in names if author(name)))
    return {"author": people} if len(people) > 1 else author("".join(people))


def _split(separator: re.Pattern[str], name: str) -> list[str]:
    """The names between separators; empty if one of them is a single word, as in `Veit, Ana`."""
    names = [part.strip() for part in separator.split(name) if part.strip()]
    return names if all(" " in one for one in names) else []


def parse_moment(text: str) -> datetime | None:
    """Reads an ISO 8601 time, in UTC if it has no zone, and converts it to UTC. None for other text."""
    written = text.strip()
    if frontmatter.TIMESTAMP.match(written):
        return None
    try:
        found = datetime.fromisoformat(written)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
