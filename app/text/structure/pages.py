"""Cleans a text of pages, and joins the words and sentences that a page break divides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.text.words import cleaning, hyphens
from app.text.words.hyphens import Words

_STRUCTURE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|[-*+]\s|\d{1,9}[.)]\s)")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """A cleaned text, the offset of each of its pages, and warnings on what was removed."""

    text: str
    starts: tuple[int, ...]
    warnings: tuple[str, ...] = ()


def clean(text: str, starts: Sequence[int]) -> CleanedPages:
    """Cleans a text whose pages begin at the given offsets. Takes linear time."""
    bounds = [*starts, len(text)]
    words = Words(text)
    cleaned = [cleaning.clean(text[begin:end].strip("\n"), words=words) for begin, end in pairwise(bounds)]
    warnings = dict.fromkeys(warning for page in cleaned for warning in page.warnings)
    joined, offsets = _join([page.text for page in cleaned], words)
    return CleanedPages(joined, tuple(offsets), tuple(warnings))


def _join(pages: Sequence[str], words: Words) -> tuple[str, list[int]]:
    """Returns the pages as one text, and the offset of each."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    previous = ""
    for page in pages:
        if previous and page:
            previous, separator = _separate(previous, page, words)
            length += len(previous) - len(parts[-1]) + len(separator)
            parts[-1:] = [previous, separator]
            _lower(starts, length)
        starts.append(length)
        if page:
            parts.append(page)
            length += len(page)
            previous = page
    return "".join(parts), starts


def _lower(starts: list[int], most: int) -> None:
    """Lower the starts of the blank pages at the end, after a hyphen before them was removed."""
    place = len(starts)
    while place and starts[place - 1] > most:
        place -= 1
        starts[place] = most


def _separate(above: str, below: str, words: Words) -> tuple[str, str]:
    """Returns the page above, without the hyphen of a word that continues below, and what separates the two."""
    first, last = below.partition("\n")[0], above.rpartition("\n")[2]
    prose = not (_STRUCTURE.match(first) or _STRUCTURE.match(last))
    if prose and first[:1].islower():
        joined = hyphens.join(last, first, words) if last[-2:-1].islower() else None
        if joined is not None:
            return above[: len(above) - len(last)] + joined, ""
        if not _SENTENCE_END.search(last):
            return above, "\n"
    return above, "\n\n"
