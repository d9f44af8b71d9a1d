"""Compares two series of measurements that were made in pairs: the median of their ratios and its interval."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

OUTSIDE = 0.05
"""Probability that a median is outside of its interval, at most."""


def alternating(checkouts: Sequence[Path], rounds: int) -> Iterator[tuple[int, Path]]:
    """The number of each round with each checkout, in turns; every second round begins with the last one."""
    for number in range(rounds):
        yield from zip(itertools.repeat(number), checkouts if number % 2 == 0 else reversed(checkouts), strict=False)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of the ratios of pairs; `low` and `high` are its interval of 95 %, None for fewer than six pairs."""

    median: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        interval = "" if self.low is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.median:.2f}{interval}"


def ratio(measured: Sequence[float], first: Sequence[float]) -> Ratio:
    """How often `measured` contains the value of `first` in the same pair.

    The interval assumes no distribution: a ratio is above the median as often as below, so that the number of ratios
    below it has a binomial distribution (Conover, Practical Nonparametric Statistics, 3.2).
    """
    ratios = sorted(one / base for one, base in zip(measured, first, strict=True))
    left_out = _left_out(len(ratios))
    if left_out is None:
        return Ratio(statistics.median(ratios), None, None)
    return Ratio(statistics.median(ratios), ratios[left_out], ratios[-1 - left_out])


def _left_out(count: int) -> int | None:
    """How many of the smallest, and of the largest, of sorted values are outside the interval; None without one."""
    below, places = 0.0, -1
    for place in range(count):
        below += math.comb(count, place) / 2**count
        if below > OUTSIDE / 2:
            break
        places = place
    return None if places < 0 else places
