"""Generates the texts of synthetic chunks.

Content words follow a Zipf-Mandelbrot distribution with repetitions within a chunk as in real text, separated by
English stop words. They are not English, and stemmers leave them unchanged. A name is two capitalised words. Documents
are titled by names, and texts mention the titles of others, some of them often, so that links can be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

VOCABULARY = 200_000
OFFSET = 85
"""Mandelbrot's offset: the most frequent word occurs in about one chunk of seven."""
MIN_WORDS, MAX_WORDS = 60, 120
"""Content words of a chunk before repetitions."""
REPETITION = 0.23
"""Probability that a word occurs once more in the chunk."""
STOP_SHARE = 0.3
NAMES_A_CHUNK = 6
NAMES_OFFSET = 20
"""Mandelbrot's offset for names: of 10,000 chunks about 480 have the most frequent name, two have a median one."""
STOP_WORDS = ("the", "of", "and", "to", "in", "that", "is", "for", "it", "with", "was", "on", "as", "by", "at", "from")

_CONSONANTS, _VOWELS, _ENDINGS = "bdfghklmnprstv", "aeiou", "kpx"
_SYLLABLES = len(_CONSONANTS) * len(_VOWELS)
_SHORT = 10_000
_FIRST_NAMES = 4_001
"""A prime, so that different numbers give different names."""
_STEP = 7_919
"""A prime that divides none of the word counts: stepping by it visits each word once, not in alphabetical order."""


@cache
def vocabulary() -> tuple[str, ...]:
    """Returns all content words, the most frequent and shortest first."""
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
    """Returns the contents of `count` chunks."""
    return [_content(ranks, rng) for ranks in _drawn(rng.integers(MIN_WORDS, MAX_WORDS + 1, count), rng)]


def name(number: int) -> str:
    """Returns the name with this number: two capitalised words."""
    words = vocabulary()
    last = _SHORT + _FIRST_NAMES
    return f"{words[_SHORT + number % _FIRST_NAMES]} {words[last + number * _STEP % (VOCABULARY - last)]}".title()


def draw_names(count: int, name_count: int, rng: np.random.Generator) -> list[list[int]]:
    """Returns the numbers, below `name_count`, of the names in each of `count` chunks; low ones are more frequent."""
    weights = np.cumsum(1 / (np.arange(name_count) + NAMES_OFFSET))
    drawn = np.searchsorted(weights, rng.random((count, NAMES_A_CHUNK)) * weights[-1])
    found: list[list[int]] = np.minimum(drawn, name_count - 1).tolist()
    return found


def insert_names(content: str, numbers: Sequence[int], rng: np.random.Generator) -> str:
    """Returns the content with the names inserted, each between stop words."""
    words = content.split(" ")
    for number, place in zip(numbers, rng.integers(0, len(words), len(numbers)).tolist(), strict=True):
        words.insert(place, f"by {name(number)} at")
    return " ".join(words)


def _drawn(lengths: Numbers, rng: np.random.Generator) -> list[Numbers]:
    """Returns word ranks drawn by frequency, one array of each length."""
    ranks = np.minimum(np.searchsorted(_cumulated(), rng.random(int(lengths.sum()))), VOCABULARY - 1)
    return np.split(ranks, np.cumsum(lengths)[:-1])


def _content(ranks: Numbers, rng: np.random.Generator) -> str:
    drawn = np.repeat(ranks, rng.geometric(1 - REPETITION, len(ranks)))
    rng.shuffle(drawn)
    stops = rng.random(len(drawn)) < STOP_SHARE
    which = rng.integers(0, len(STOP_WORDS), len(drawn))
    words = vocabulary()
    parts: list[str] = []
    for rank, stop, place in zip(drawn.tolist(), stops.tolist(), which.tolist(), strict=True):
        if stop:
            parts.append(STOP_WORDS[place])
        parts.append(words[rank])
    return " ".join(parts)


def question(content: str, rng: np.random.Generator, *, words: int = 6) -> tuple[str, ...]:
    """Returns distinct words of a chunk that are neither stop words nor names."""
    known = sorted({word for word in content.split() if word.islower()} - set(STOP_WORDS))
    return tuple(rng.choice(known, min(words, len(known)), replace=False).tolist())


def any_of(words: Sequence[str]) -> str:
    """Returns a tsquery that matches any of the words."""
    return " | ".join(words)


def all_of(words: Sequence[str]) -> str:
    """Returns a tsquery that matches all of the words together."""
    return " & ".join(words)
