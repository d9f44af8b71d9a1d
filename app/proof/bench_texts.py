"""What do made-up chunks say?

Content words follow the law of Zipf and Mandelbrot, with repetitions inside a chunk as real text has them, between
English stop words. The words mean nothing, and no stemmer touches them. Names are two capitalised ones; the first
of them title the documents, and texts mention the others' titles, a few of them often, so that names lead somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

VOCABULARY = 200_000
OFFSET = 85
"""Mandelbrot's: the most frequent word stands in about one chunk of seven."""
FEWEST_WORDS, MOST_WORDS = 60, 120
"""Content words of a chunk, before repetitions."""
REPETITION = 0.23
"""Chance that a word which was just said is said again in the chunk."""
STOP_SHARE = 0.3
NAMES_A_CHUNK = 6
NAMES_OFFSET = 20
"""Mandelbrot's for names: of 10,000 chunks the most frequent name stands in about 480, a middling one in two."""
STOP_WORDS = ("the", "of", "and", "to", "in", "that", "is", "for", "it", "with", "was", "on", "as", "by", "at", "from")

_CONSONANTS, _VOWELS, _ENDINGS = "bdfghklmnprstv", "aeiou", "kpx"
_SYLLABLES = len(_CONSONANTS) * len(_VOWELS)
_SHORT = 10_000
_FIRST_NAMES = 4_001
"""A prime, so that no two of the numbers that occur make the same name."""
_STEP = 7_919
"""A prime that divides no count of words: stepping by it reaches each word once, out of alphabetical order."""


@cache
def vocabulary() -> tuple[str, ...]:
    """All content words, the most frequent (and shortest) first."""
    short, long = _SYLLABLES**2 * len(_ENDINGS), _SYLLABLES**3 * len(_ENDINGS)
    return tuple(
        _spelled(rank * _STEP % short, 2) if rank < _SHORT else _spelled(rank * _STEP % long, 3)
        for rank in range(VOCABULARY)
    )


def _spelled(number: int, syllables: int) -> str:
    number, ending = divmod(number, len(_ENDINGS))
    parts = []
    for _ in range(syllables):
        number, syllable = divmod(number, _SYLLABLES)
        parts.append(_CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)])
    return "".join(parts) + _ENDINGS[ending]


@cache
def _cumulated() -> npt.NDArray[np.float64]:
    weights = 1 / (np.arange(1, VOCABULARY + 1) + OFFSET)
    return np.asarray(np.cumsum(weights / weights.sum()))


def chunks(count: int, rng: np.random.Generator) -> list[str]:
    """The contents of `count` chunks."""
    return [_content(ranks, rng) for ranks in _drawn(rng.integers(FEWEST_WORDS, MOST_WORDS + 1, count), rng)]


def name(number: int) -> str:
    """A name of two capitalised words, another for each number."""
    words = vocabulary()
    last = _SHORT + _FIRST_NAMES
    return f"{words[_SHORT + number % _FIRST_NAMES]} {words[last + number * _STEP % (VOCABULARY - last)]}".title()


def naming(count: int, known: int, rng: np.random.Generator) -> list[list[int]]:
    """For each of `count` chunks the numbers, below `known`, of the names in it; low numbers are the most frequent."""
    weights = np.cumsum(1 / (np.arange(known) + NAMES_OFFSET))
    drawn = np.searchsorted(weights, rng.random((count, NAMES_A_CHUNK)) * weights[-1])
    found: list[list[int]] = np.minimum(drawn, known - 1).tolist()
    return found


def named(content: str, numbers: Sequence[int], rng: np.random.Generator) -> str:
    """A chunk's content with the names set into it, each between stop words."""
    words = content.split(" ")
    for number, place in zip(numbers, rng.integers(0, len(words), len(numbers)).tolist(), strict=True):
        words.insert(place, f"by {name(number)} at")
    return " ".join(words)


def _drawn(lengths: Numbers, rng: np.random.Generator) -> list[Numbers]:
    """Ranks of that many words each, drawn by frequency."""
    ranks = np.minimum(np.searchsorted(_cumulated(), rng.random(int(lengths.sum()))), VOCABULARY - 1)
    return np.split(ranks, np.cumsum(lengths)[:-1])


def _content(ranks: Numbers, rng: np.random.Generator) -> str:
    said = np.repeat(ranks, rng.geometric(1 - REPETITION, len(ranks)))
    rng.shuffle(said)
    stops = rng.random(len(said)) < STOP_SHARE
    which = rng.integers(0, len(STOP_WORDS), len(said))
    words = vocabulary()
    parts: list[str] = []
    for rank, stop, place in zip(said.tolist(), stops.tolist(), which.tolist(), strict=True):
        if stop:
            parts.append(STOP_WORDS[place])
        parts.append(words[rank])
    return " ".join(parts)


def question(content: str, rng: np.random.Generator, *, words: int = 6) -> tuple[str, ...]:
    """Different non-stop words of a chunk that are no names, as somebody would ask for it."""
    known = sorted({word for word in content.split() if word.islower()} - set(STOP_WORDS))
    return tuple(rng.choice(known, min(words, len(known)), replace=False).tolist())


def any_of(words: Sequence[str]) -> str:
    """A tsquery that any of the words satisfies."""
    return " | ".join(words)


def all_of(words: Sequence[str]) -> str:
    """A tsquery that only all of the words satisfy."""
    return " & ".join(words)
