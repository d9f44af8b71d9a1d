"""Finds the known names whose spelling resembles words of a text.

Candidates are selected by shared trigrams and scored by rapidfuzz's ratio (the normalised Indel similarity). The index
is in memory, and numpy counts the trigrams.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from app.text.names import names

MIN_SIMILARITY = 0.75
"""Least similarity with which a span of a text resembles a name."""
MAX_WORDS = 40
"""Largest number of words that are compared, from the beginning of a text."""
MAX_SPAN_WORDS = 5
MIN_LETTERS = 5
"""Least number of letters in a misspelling. Shorter words resemble many names."""
LETTERS_PER_EDIT = 4
"""Each word of a misspelling has at most one edit for this many letters. With more edits it is another word."""
_CUTOFF = 100 * MIN_SIMILARITY
_SHARED_WEIGHT = np.int16(5)
_MIN_LENGTH_RATIO = 0.6
"""Least ratio of the lengths of two texts with MIN_SIMILARITY: MIN_SIMILARITY / (2 - MIN_SIMILARITY)."""
_MIN_SHARED = 0.5
"""Least share of its trigrams that a short text must share with a candidate."""
_MAX_TRIGRAMS = 120
_MAX_CANDIDATES = 100
"""Most names whose similarity to a span of a text is computed."""
_MAX_MATCHES = 5
"""Most names that a span of a text resembles."""
_PARTIAL_FACTOR, _PREFIX_FACTOR = 0.9, 0.85

_Counts = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A name that resembles the words `start` to `end` (exclusive) of a text, with a similarity of 0.75 to 1."""

    key: str
    similarity: float
    start: int
    end: int


class FuzzyNames:
    """An immutable trigram index of keys of names (`gazetteer.key`); `patched` returns a changed copy."""

    def __init__(self, keys: Sequence[str], gone: frozenset[str] = frozenset(), more: FuzzyNames | None = None) -> None:
        self._keys = keys
        self._gone = gone
        self._more = more
        self._sizes: _Counts = np.zeros(len(keys), np.int16)
        self._lengths: _Counts = np.array([len(known) for known in keys], np.int16)
        self._postings: dict[str, NDArray[np.int32]] = {}

    @classmethod
    def build(cls, keys: Iterable[str]) -> Self:
        """Builds an index of these keys. Takes about 0.5 s for 50,000."""
        made = cls(list(dict.fromkeys(keys)))
        postings: dict[str, list[int]] = {}
        for index, known in enumerate(made._keys):
            trigrams = _trigrams(known.split(" "))
            made._sizes[index] = len(trigrams)
            for trigram in trigrams:
                postings.setdefault(trigram, []).append(index)
        made._postings = {trigram: np.array(indexes, np.int32) for trigram, indexes in postings.items()}
        return made

    def patched(self, added: Collection[str], gone: Collection[str]) -> FuzzyNames:
        """Returns a copy with some keys added and removed; cheap for few changes."""
        more = {*(self._more._keys if self._more else ()), *added} - set(gone)
        made = FuzzyNames(self._keys, (self._gone | frozenset(gone)) - frozenset(added), FuzzyNames.build(sorted(more)))
        made._sizes, made._postings = self._sizes, self._postings
        return made

    @property
    def changes(self) -> int:
        """The number of keys that were added or removed since the index was built."""
        return len(self._gone) + (len(self._more._keys) if self._more else 0)

    def similar(self, text: str, limit: int = 10) -> list[tuple[str, float]]:
        """Returns up to `limit` keys that resemble a short text, and their similarity (0 to 1), most similar first.

        A match with a part of a name counts 0.9 times, and at least 0.85 if the text occurs at the start of a word.
        """
        words = names.words(text)[:MAX_WORDS]
        query = " ".join(words)
        trigrams = _trigrams(words)
        if not trigrams:
            return []
        scores = dict(self._more.similar(text, limit)) if self._more else {}
        counts, candidates = self._sharing(trigrams)
        for index in _best(candidates, counts[candidates] / (self._sizes[candidates] + len(trigrams))):
            known = self._keys[index]
            if known not in self._gone:
                whole = fuzz.ratio(query, known) / 100
                partial = _PARTIAL_FACTOR * fuzz.token_set_ratio(query, known) / 100
                prefix = _PREFIX_FACTOR if f" {query}" in f" {known}" else 0.0
                scores[known] = max(float(max(whole, partial, prefix)), scores.get(known, 0))
        return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))[:limit]

    def comparable(self, text: str) -> set[str]:
        """Returns every key that `similar` could return if it were the only key."""
        trigrams = _trigrams(names.words(text)[:MAX_WORDS])
        found = self._more.comparable(text) if self._more else set()
        _counts, candidates = self._sharing(trigrams)
        return (found | {self._keys[index] for index in candidates}) - self._gone

    def within(self, text: str) -> list[FuzzyMatch]:
        """Returns the names that resemble one to five adjacent words by at least MIN_SIMILARITY, each at its best span.

        The most similar names come first. Exact matches are included, with similarity 1.
        """
        matches = self._more.within(text) if self._more else []
        for span, margin, start, end in self._spans(text):
            candidates = self._candidates(span, margin)
            choices = {index: self._keys[index] for index in _best(candidates, margin[candidates])}
            similar = process.extract(span, choices, scorer=fuzz.ratio, score_cutoff=_CUTOFF, limit=_MAX_MATCHES)
            matches += [FuzzyMatch(known, ratio / 100, start, end) for known, ratio, _index in similar]
        best: dict[str, FuzzyMatch] = {}
        for found in matches:
            known = best.get(found.key)
            if found.key not in self._gone and (known is None or found.similarity > known.similarity):
                best[found.key] = found
        return sorted(best.values(), key=lambda found: (-found.similarity, found.start, found.key))

    def passing(self, text: str) -> set[str]:
        """Returns every name that `within` could return if it were the only name."""
        found = self._more.passing(text) if self._more else set()
        for span, margin, _start, _end in self._spans(text):
            keys = [self._keys[index] for index in self._candidates(span, margin)]
            similar = process.extract(span, keys, scorer=fuzz.ratio, score_cutoff=_CUTOFF, limit=None)
            found.update(known for known, _ratio, _index in similar if known not in self._gone)
        return found

    def _spans(self, text: str) -> Iterator[tuple[str, _Counts, int, int]]:
        """Yields each span of a text, the margins of the names, and the span's start and end (exclusive) in words.

        The first and last words of a span are distinctive. A margin is valid until the next span, and not negative if
        2 · shared / (trigrams of name + span) ≥ 0.4, computed as 5 · shared − trigrams of span ≥ trigrams of name.
        """
        words = names.words(text)[:MAX_WORDS]
        margins = [
            _SHARED_WEIGHT * self._counted(trigrams) - np.int16(len(trigrams))
            for trigrams in map(_trigrams, ([w] for w in words))
        ]
        ends = [names.is_distinctive([word]) for word in words]
        for start in (place for place, is_end in enumerate(ends) if is_end):
            margin = -self._sizes
            for end in range(start + 1, min(start + MAX_SPAN_WORDS, len(words)) + 1):
                np.add(margin, margins[end - 1], out=margin)
                if ends[end - 1]:
                    yield " ".join(words[start:end]), margin, start, end

    def _candidates(self, span: str, margin: _Counts) -> NDArray[Any]:
        """Returns the positions of the names that share enough trigrams with a span and have a similar length."""
        (candidates,) = (margin >= 0).nonzero()
        lengths = self._lengths[candidates]
        return candidates[(lengths >= len(span) * _MIN_LENGTH_RATIO) & (lengths <= len(span) / _MIN_LENGTH_RATIO)]

    def _sharing(self, trigrams: Collection[str]) -> tuple[_Counts, NDArray[Any]]:
        """Returns how many trigrams each key shares with a short text, and the positions of the keys with enough."""
        counts = self._counted(trigrams)
        (candidates,) = np.nonzero(counts >= max(1, int(len(trigrams) * _MIN_SHARED)))
        return counts, candidates

    def _counted(self, trigrams: Collection[str]) -> _Counts:
        postings = [self._postings[trigram] for trigram in trigrams if trigram in self._postings]
        if not postings:
            return np.zeros_like(self._sizes)
        return np.bincount(np.concatenate(postings), minlength=len(self._keys)).astype(np.int16)


def is_misspelling(words: Sequence[str], known: str) -> bool:
    """Returns whether words that resemble a name may be a misspelling of it: long enough, with few edits in each word.

    An edit inserts, deletes, replaces or transposes letters (optimal string alignment distance). Edits are counted only
    if the name has as many words. Words that are only some of the name's words are no misspelling.
    """
    if sum(map(len, words)) < MIN_LETTERS:
        return False
    counterparts = known.split(" ")
    if set(words) < set(counterparts):
        return False
    pairs = zip(words, counterparts, strict=True) if len(words) == len(counterparts) else ()
    return all(OSA.distance(word, other) * LETTERS_PER_EDIT <= max(len(word), len(other)) for word, other in pairs)


def _best(candidates: NDArray[Any], margins: NDArray[Any]) -> list[int]:
    if len(candidates) > _MAX_CANDIDATES:
        candidates = candidates[np.argpartition(-margins, _MAX_CANDIDATES)[:_MAX_CANDIDATES]]
    return [int(index) for index in candidates]


def _trigrams(words: Iterable[str]) -> set[str]:
    """Returns the trigrams of words, each padded with two spaces before and one after it, as in pg_trgm."""
    padded = (f"  {word} " for word in words)
    found = [word[start : start + 3] for word in padded for start in range(len(word) - 2)]
    return set(found[:_MAX_TRIGRAMS])
