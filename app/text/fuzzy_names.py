"""Finds the known names whose spelling resembles words of a text.

Shared trigrams of words nominate, and the share of letters in common (rapidfuzz's ratio, the normalised Indel
similarity) decides. Everything is in memory; the counting is numpy's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from app.text import names

MIN_SIMILARITY = 0.75
"""Similarity from which a span of a text resembles a name."""
MAX_WORDS = 40
"""Words of a text that are looked at, from its beginning."""
MAX_SPAN_WORDS = 5
_LEAD = np.int16(5)
_LEAST_LENGTH = 0.6
"""Shortest over longest of two texts whose ratio is MIN_SIMILARITY: MIN_SIMILARITY / (2 - MIN_SIMILARITY)."""
_HELD = 0.5
"""Share of its own trigrams by which a short text nominates a name."""
_MOST_TRIGRAMS = 120
_MOST_NOMINATED = 100
_PARTIAL, _BEGINNING = 0.9, 0.85

_Counts = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A name that some words of a text (from `start`, before `end`) resemble, by 0.75 to 1."""

    key: str
    similarity: float
    start: int
    end: int


class FuzzyNames:
    """Keys of names (`gazetteer.key`), ready to be resembled. Never changed: `patched` makes another."""

    def __init__(self, keys: Sequence[str], gone: frozenset[str] = frozenset(), more: FuzzyNames | None = None) -> None:
        self._keys = keys
        self._gone = gone
        self._more = more
        self._sizes: _Counts = np.zeros(len(keys), np.int16)
        self._lengths: _Counts = np.array([len(known) for known in keys], np.int16)
        self._postings: dict[str, NDArray[np.int32]] = {}

    @classmethod
    def build(cls, keys: Iterable[str]) -> Self:
        """An index of these keys. Runs for about half a second at 50,000."""
        made = cls(list(dict.fromkeys(keys)))
        postings: dict[str, list[int]] = {}
        for place, known in enumerate(made._keys):
            held = _trigrams(known.split(" "))
            made._sizes[place] = len(held)
            for trigram in held:
                postings.setdefault(trigram, []).append(place)
        made._postings = {trigram: np.array(places, np.int32) for trigram, places in postings.items()}
        return made

    def patched(self, added: Collection[str], gone: Collection[str]) -> FuzzyNames:
        """The same with some keys more and some less; cheap while they are few."""
        more = {*(self._more._keys if self._more else ()), *added} - set(gone)
        made = FuzzyNames(self._keys, (self._gone | frozenset(gone)) - frozenset(added), FuzzyNames.build(sorted(more)))
        made._sizes, made._postings = self._sizes, self._postings
        return made

    @property
    def changes(self) -> int:
        """How many keys were added or removed since it was built."""
        return len(self._gone) + (len(self._more._keys) if self._more else 0)

    def similar(self, text: str, limit: int = 10) -> list[tuple[str, float]]:
        """Up to `limit` keys that a short text resembles, with the similarity (0 to 1), the most similar first.

        A part of a name resembles it by 0.9 of its own similarity, the beginning of one of its words by 0.85.
        """
        told = names.words(text)[:MAX_WORDS]
        asked = " ".join(told)
        held = _trigrams(told)
        if not held:
            return []
        scores: dict[str, float] = self._more_similar(text, limit)
        counts = self._counted(held)
        (likely,) = np.nonzero(counts >= max(1, int(len(held) * _HELD)))
        for place in _best(likely, counts[likely] / (self._sizes[likely] + len(held))):
            known = self._keys[place]
            if known not in self._gone:
                scores[known] = max(_likeness(asked, known), scores.get(known, 0))
        return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:limit]

    def within(self, text: str) -> list[FuzzyMatch]:
        """The names that one to five neighbouring words of a text resemble by at least CLOSE, each at its best span.

        The most similar first. A name that stands there exactly is among them, with similarity 1.
        """
        best: dict[str, FuzzyMatch] = {}
        for found in (*(self._more.within(text) if self._more else ()), *self._within(text)):
            known = best.get(found.key)
            if found.key not in self._gone and (known is None or found.similarity > known.similarity):
                best[found.key] = found
        return sorted(best.values(), key=lambda found: (-found.similarity, found.start, found.key))

    def _within(self, text: str) -> Iterator[FuzzyMatch]:
        """The names nominated where 2 · shared / (name's + span's trigrams) ≥ 0.4: 5 · shared − span's ≥ name's."""
        told = names.words(text)[:MAX_WORDS]
        leads = [_LEAD * self._counted(held) - np.int16(len(held)) for held in map(_trigrams, ([w] for w in told))]
        for start in range(len(told)):
            lead = -self._sizes
            for end in range(start + 1, min(start + MAX_SPAN_WORDS, len(told)) + 1):
                np.add(lead, leads[end - 1], out=lead)
                if _may_name(told[start:end]):
                    yield from self._alike(" ".join(told[start:end]), lead, start, end)

    def _alike(self, span: str, lead: _Counts, start: int, end: int) -> Iterator[FuzzyMatch]:
        (likely,) = (lead >= 0).nonzero()
        lengths = self._lengths[likely]
        likely = likely[(lengths >= len(span) * _LEAST_LENGTH) & (lengths <= len(span) / _LEAST_LENGTH)]
        choices = {place: self._keys[place] for place in _best(likely, lead[likely])}
        for known, ratio, _place in process.extract(
            span, choices, scorer=fuzz.ratio, score_cutoff=100 * MIN_SIMILARITY
        ):
            yield FuzzyMatch(known, ratio / 100, start, end)

    def _counted(self, trigrams: Collection[str]) -> _Counts:
        """How many of the trigrams each key has."""
        held = [self._postings[trigram] for trigram in trigrams if trigram in self._postings]
        if not held:
            return np.zeros_like(self._sizes)
        return np.bincount(np.concatenate(held), minlength=len(self._keys)).astype(np.int16)

    def _more_similar(self, text: str, limit: int) -> dict[str, float]:
        return dict(self._more.similar(text, limit)) if self._more else {}


def _best(likely: NDArray[Any], leads: NDArray[Any]) -> list[int]:
    """The most promising of the likely keys."""
    if len(likely) > _MOST_NOMINATED:
        likely = likely[np.argpartition(-leads, _MOST_NOMINATED)[:_MOST_NOMINATED]]
    return [int(place) for place in likely]


def _may_name(words: Sequence[str]) -> bool:
    """Whether a span could be a misspelled name: it begins and ends with words that could name something."""
    return names.is_distinctive(words[:1]) and names.is_distinctive(words[-1:])


def _trigrams(words: Iterable[str]) -> set[str]:
    """The trigrams of words, two spaces before and one behind each, as pg_trgm takes them."""
    padded = (f"  {word} " for word in words)
    found = [word[place : place + 3] for word in padded for place in range(len(word) - 2)]
    return set(found[:_MOST_TRIGRAMS])


def _likeness(asked: str, known: str) -> float:
    whole = fuzz.ratio(asked, known) / 100
    partial = _PARTIAL * fuzz.token_set_ratio(asked, known) / 100
    begins = _BEGINNING if f" {known}".find(f" {asked}") >= 0 else 0.0
    return float(max(whole, partial, begins))
