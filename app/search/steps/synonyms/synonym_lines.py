"""Reads and writes groups of synonyms as lines of text.

A line is a group: `boiler, furnace, heating unit`. The terms before `=>` are expanded to the terms after it:
`vehicle => car, lorry`. A backslash makes the next character plain. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_GROUPS, MAX_TERMS, MAX_LENGTH = 500, 20, 100
"""The most groups of a user, terms on each side of a group, and characters of a term."""
ARROW = "=>"
_PIECE = re.compile(r"\\(.)|(=>)|(,)|(.)", re.DOTALL)
_SPECIAL = re.compile(r"[\\,]|=(?=>)|^[#\ufeff]")


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Words and phrases that mean the same: a query with one of `terms` also searches for the others.

    With `expand_to`, it also searches for the terms of `expand_to`, but not for the others.
    """

    terms: tuple[str, ...]
    expand_to: tuple[str, ...] = ()


def read(text: str) -> Iterator[tuple[int, SynonymGroup]]:
    """The number of each line with a group, and the group. A further arrow in a line counts as a comma."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip().removeprefix("\ufeff")
        if line and not line.startswith("#"):
            yield number, _group(line)


def _group(line: str) -> SynonymGroup:
    sides: list[list[str]] = [[""]]
    for escaped, arrow, comma, plain in _PIECE.findall(line):
        if arrow:
            sides.append([""])
        elif comma:
            sides[-1].append("")
        else:
            sides[-1][-1] += escaped or plain
    terms, *expansions = (tuple(" ".join(term.split()) for term in side if term.strip()) for side in sides)
    return SynonymGroup(terms, tuple(term for side in expansions for term in side))


def write(groups: Iterable[SynonymGroup]) -> str:
    """The groups as lines that `read` can read."""
    return "".join(f"{_line(group)}\n" for group in groups)


def _line(group: SynonymGroup) -> str:
    terms = ", ".join(map(_escape, group.terms))
    return f"{terms} {ARROW} {', '.join(map(_escape, group.expand_to))}" if group.expand_to else terms


def _escape(term: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", term)
