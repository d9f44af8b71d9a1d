"""Collapses hits that repeat another hit: copies of a passage, and versions of it that differ in a few words.

Two passages are duplicates if their words are the same. They are near duplicates if they have the same title, headings
and numbers, and the Jaccard index of their sets of shingles (runs of SHINGLE words, Broder 1997) is at least LEAST. The
search compares the texts of its hits; storing a document computes nothing (docs/decisions/0035-duplicates.md).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from app.query.search_types import Candidate, Hit

SHINGLE = 3
LEAST = 0.8
"""Least Jaccard index of near duplicates."""
MIN_WORDS = 8
"""Least number of words in a near duplicate, and in a passage that duplicates one with another title or headings."""
MAX_WORDS = 1_000
"""Largest number of words that are compared, from the beginning of a passage."""
BEGINNING = 200
"""Characters in which the first MIN_WORDS words of most passages are."""
_NUMBER = re.compile(r"\d(?<!\w\d)(?:[\w.,:/-]*\w)?")  # begins with a digit, because that is found fastest


def collapse(hits: Iterable[Hit]) -> list[Hit]:
    """Returns the first hit of each set of duplicates, in order. Its `duplicates` has the other hits.

    Every hit is compared only with the first hits, so a chain of small changes does not form a set. The hits must have
    their whole text. Takes linear time, unless many passages share most of their words.
    """
    firsts = _Firsts()
    for hit in hits:
        firsts.add(hit)
    return [one.hit._replace(duplicates=tuple(one.others)) if one.others else one.hit for one in firsts.all]


Place = tuple[str, ...]
"""The title and headings of a passage. A title that is a file name is omitted."""


@dataclass
class _First:
    """The first hit of a set of duplicates and the other hits; its words, numbers and shingles once needed."""

    hit: Hit
    others: list[Candidate] = field(default_factory=list)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.hit.candidate.content.casefold().split(maxsplit=MAX_WORDS)[:MAX_WORDS])

    def beginning(self) -> tuple[str, ...]:
        """The first MIN_WORDS words, or all if there are fewer."""
        found = self.hit.candidate.content[:BEGINNING].casefold().split(maxsplit=MIN_WORDS)
        return tuple(found[:MIN_WORDS]) if len(found) > MIN_WORDS else self.words[:MIN_WORDS]

    @cached_property
    def numbers(self) -> list[str]:
        return _NUMBER.findall(" ".join(self.words))

    @cached_property
    def shingles(self) -> frozenset[int]:
        ring = (*self.words, *self.words[: SHINGLE - 1])  # every word is in as many shingles, the first one too
        return frozenset(map(hash, zip(*(ring[start:] for start in range(SHINGLE)), strict=False)))


@dataclass(slots=True)
class _SameBeginning:
    """Hits that begin with the same words, each with the first hit of its set.

    Most hits are alone, so only their first words are read.
    """

    added: list[tuple[_First, _First]] = field(default_factory=list)
    by_text: dict[tuple[str, ...], _First] = field(default_factory=dict)

    def same(self, one: _First) -> _First | None:
        """The first hit of the set that has the same words; None without one."""
        if self.added:
            self.by_text.update((hit.words, first) for hit, first in self.added[len(self.by_text) :])
            return self.by_text.get(one.words)
        return None


@dataclass(slots=True)
class _SamePlace:
    """The first hits with the same title and headings, and the shingles of the hits that were compared.

    Most hits are alone in their place, so their shingles are never computed.
    """

    firsts: list[_First] = field(default_factory=list)
    compared: int = 0
    shingles: set[int] = field(default_factory=set)

    def near(self, one: _First) -> _First | None:
        """The earliest first hit that is a near duplicate; None without one."""
        if not self.firsts:
            return None
        self.shingles.update(*(first.shingles for first in self.firsts[self.compared :]))
        self.compared = len(self.firsts)
        # A near duplicate has at least LEAST · n of the n shingles, so it cannot lack all of `some`.
        least = math.ceil(LEAST * len(one.shingles))
        if len(one.shingles & self.shingles) < least:
            return None
        some = list(itertools.islice(one.shingles, len(one.shingles) - least + 1))
        alike = (other for other in self.firsts if other.numbers == one.numbers)
        others = (other for other in alike if not other.shingles.isdisjoint(some))
        return next((other for other in others if jaccard(one.shingles, other.shingles) >= LEAST), None)


@dataclass(slots=True)
class _Firsts:
    """The first hits of all sets so far, by their first words and by place."""

    all: list[_First] = field(default_factory=list)
    by_beginning: dict[tuple[str, ...], _SameBeginning] = field(default_factory=dict)
    by_place: dict[Place, _SamePlace] = field(default_factory=dict)

    def add(self, hit: Hit) -> None:
        """Add a hit to the set that it repeats, or as the first hit of a new set."""
        one, place = _First(hit), _place(hit.candidate)
        beginning = one.beginning()
        is_long = len(beginning) >= MIN_WORDS
        key = beginning if is_long else (*place, *beginning)
        alike = self.by_beginning.setdefault(key, _SameBeginning())
        first = alike.same(one)
        if first is None:
            same = self.by_place.setdefault(place, _SamePlace())
            first = (same.near(one) if is_long else None) or one
            alike.added.append((one, first))
            if first is one:
                same.firsts.append(one)
                self.all.append(one)
        if first is not one:
            first.others.append(hit.candidate)


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Returns the Jaccard index of two sets, 0 to 1; 0 if both are empty."""
    shared = len(one & other)
    return shared / whole if (whole := len(one) + len(other) - shared) else 0.0


def _place(candidate: Candidate) -> Place:
    title = "" if candidate.title == candidate.metadata.get("filename") else candidate.title
    return (title, *candidate.heading_path)
