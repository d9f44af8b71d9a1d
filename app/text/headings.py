"""Finds the sections that a chunk belongs to, and the names of sections."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.text import names, structure
from app.text.names import Name

_MAY_HOLD = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|=|-)", re.MULTILINE)
_NUMBERING = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})+[.)]?|\d{1,3}[.)])\s+")


def sections(path: Sequence[str], content: str) -> list[tuple[str, ...]]:
    """The sections that a chunk stands in, by the headings that lead to each, and those that it holds whole."""
    found = [tuple(path[:depth]) for depth in range(1, len(path) + 1)]
    if not _MAY_HOLD.search(content):
        return found
    above: list[structure.Block] = []
    for block in structure.blocks(content):
        if block.kind == "heading" and block.title:
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            found.append((*path, *(heading.title for heading in above)))
    return found


def name(heading: str) -> Name | None:
    """The name of a section, without its number ("3.2 "); None where the words name nothing or tell only a date."""
    found = names.title_name(_NUMBERING.sub("", heading[: structure.MAX_HEADING], count=1))
    return found if found is not None and names.is_not_a_date(found.key.split(" ")) else None


def matches_any_case(name: Name) -> bool:
    """Whether texts mean the section in any spelling of case; a lone word ("members") means it only where large."""
    return " " in name.key


def question_keys(question: str) -> set[str]:
    """The keys of the word sequences in a question by which it may mean a section."""
    return {key for key in names.sequences(question) if " " in key} | {found.key for found in names.find(question)}
