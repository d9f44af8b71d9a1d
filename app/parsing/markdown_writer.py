"""Writes parts of files as Markdown: paragraphs, headings, tables, code, raised text, descriptions of pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

LAST_LEVEL = 6
LONGEST_REPEATED = 200
"""The text of a merged cell is repeated in all the cells that it covers, if it has at most this many characters."""
_MARKUP = re.compile(r" {0,3}(?:#{1,6}\s|=+\s*$|-+\s*$|```|~~~)")
_PATH = re.compile(r"(?:[A-Za-z]:[\\/]|[\\/]|https?:|file:).*\.\w{3,4}")
_FENCE = re.compile("`{3,}")
_NUMBER, _RAISED = re.compile(r"\d[.,:;]?$"), re.compile(r"\s*[-+\u2212]?\d")
_FRACTION = re.compile(r"[/⁄]\s*(?:\d|$)")
_WORD, _NOTE = re.compile(r"[^\W\d_]{3}[.,:;!?]?$"), re.compile(r"\s*(?:\d{1,3}|[ivx]{1,6})\s*")
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix"}
_ROMAN |= {5: "v", 4: "iv", 1: "i"}
_MOST_ROMAN = 3_999
"""The largest number that is written as letters."""


def escape(line: str) -> str:
    """Escapes a line of text that begins like a heading or a block of code."""
    return "\\" + line if _MARKUP.match(line) else line


def paragraph(text: str) -> str:
    """A paragraph of lines, each without blanks around it."""
    return "\n".join(escape(line) for line in map(str.strip, text.split("\n")) if line)


def heading(level: int, text: str) -> str:
    """A heading on one line; empty if it has no text."""
    words = " ".join(text.split())
    return f"{'#' * max(1, min(level, LAST_LEVEL))} {words}" if words else ""


def label(number: int, kind: str) -> str:
    """The label of an item of a numbered list: `3.`, or `c.` and `iii.` for `lower_alpha` and `lower_roman`."""
    case, _, script = kind.partition("_")
    write = {"alpha": _letters, "latin": _letters, "roman": _roman}.get(script, str)
    text = write(number) if 0 < number <= _MOST_ROMAN else str(number)
    return f"{text.upper() if case == 'upper' else text}."


def _letters(number: int) -> str:
    """A number as letters: a to z, then aa to az."""
    letters = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def _roman(number: int) -> str:
    digits = ""
    for value, digit in _ROMAN.items():
        count, number = divmod(number, value)
        digits += digit * count
    return digits


def describe(alt: object) -> str:
    """The description of a picture. Empty for a single word, which mostly names a kind, such as `logo`.

    A file path, which some programs write instead, is not a description.
    """
    words = str(alt or "").split()
    return " ".join(words) if len(words) > 1 and not _PATH.fullmatch(" ".join(words)) else ""


def separate_raised(before: str, raised: str, after: str = "") -> str:
    """A raised text as it is written after `before`.

    After a digit, a number gets ^ (10^6), or a blank before a fraction bar (1 1/2). After a word it is the number of a
    note and gets ^, but not after a unit, which has fewer letters (m2).
    """
    is_note = _WORD.search(before[-4:]) and _NOTE.fullmatch(raised)
    if not is_note and not (_NUMBER.search(before[-2:]) and _RAISED.match(raised)):
        return raised
    return f"{' ' if _FRACTION.match(after) else '^'}{raised.strip()}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row names its columns; empty if there are no rows."""
    if not rows:
        return ""
    head, *rest = ["| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])


def code(text: str, language: str = "") -> str:
    """A block of code between fences that are longer than any fence in it."""
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
