"""Writes the Markdown of text, headings, code and tables that were read from files."""

from __future__ import annotations

import re
from collections.abc import Sequence

LAST_LEVEL = 6
LONGEST_REPEATED = 200
"""Characters of the longest text of a cell that is repeated in each cell that it extends over; others are blank."""
_MARKUP = re.compile(r" {0,3}(?:#{1,6}\s|=+\s*$|-+\s*$|```|~~~)")
_PATH = re.compile(r"(?:[A-Za-z]:[\\/]|[\\/]|https?:|file:).*\.\w{3,4}")
_FENCE = re.compile("`{3,}")


def escape(line: str) -> str:
    """A line of text that does not begin as a heading or a block of code does."""
    return "\\" + line if _MARKUP.match(line) else line


def paragraph(text: str) -> str:
    """A paragraph of lines, each without blanks around it."""
    return "\n".join(escape(line) for line in map(str.strip, text.split("\n")) if line)


def heading(level: int, text: str) -> str:
    """A heading on one line; empty if it has no text."""
    words = " ".join(text.split())
    return f"{'#' * max(1, min(level, LAST_LEVEL))} {words}" if words else ""


def describe(alt: object) -> str:
    """What a picture shows, by its description; empty for one word, which mostly names a kind, such as `logo`.

    The path of a file, which some programs write instead, is no description.
    """
    words = str(alt or "").split()
    return " ".join(words) if len(words) > 1 and not _PATH.fullmatch(" ".join(words)) else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row names its columns; empty if there are no rows."""
    if not rows:
        return ""
    head, *rest = ["| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])


def code(text: str, language: str = "") -> str:
    """A block of code between fences that are longer than any in it."""
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
