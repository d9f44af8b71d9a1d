"""Finds the sections above and inside a chunk, and the names by which texts and questions refer to a section."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.text.names import names
from app.text.structure import structure
from app.text.words import word_lists

_HEADING = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|=|-)", re.MULTILINE)
_FILE_NAME = re.compile(
    r"\S*\.(?:txt|md|markdown|rst|adoc|html?|pdf|docx?|odt|rtf|tex|csv|tsv|xlsx?|pptx?|json|ya?ml|xml|log|eml)"
)
_NUMBERING = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})+[.)]?|\d{1,3}[.)])\s+")


def sections(path: Sequence[str], content: str) -> list[tuple[str, ...]]:
    """Returns the heading paths of the sections that contain a chunk, and of the sections inside the chunk."""
    found = [tuple(path[:depth]) for depth in range(1, len(path) + 1)]
    if not _HEADING.search(content):
        return found
    above: list[structure.Block] = []
    for block in structure.blocks(content):
        if block.kind == "heading" and block.title:
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            found.append((*path, *(heading.title for heading in above)))
    return found


def name(heading: str) -> names.Name | None:
    """Returns the name of a section without its number ("3.2 "), or None for function words or a date."""
    found = names.title_name(_NUMBERING.sub("", heading[: structure.MAX_HEADING], count=1))
    return found if found is not None and names.is_not_a_date(found.key.split(" ")) else None


def is_searched(key: str) -> bool:
    """Returns whether texts are searched for a heading with this key inside longer names. Not for a single word."""
    return " " in key


def is_general(title: str) -> bool:
    """Returns whether a title is a file name, or has only words of common headings ("Appendix B")."""
    words = set(names.words(title)) - word_lists.FUNCTION_WORDS - word_lists.HEADING_WORDS
    return all(len(word) == 1 or word.isdigit() for word in words) or _FILE_NAME.fullmatch(title) is not None
