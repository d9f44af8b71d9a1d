"""Defines the calibration of a user's relevance, and what it was fitted from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class LogitScale:
    """A linear function of the logit of a probability: `σ(intercept + slope · logit(p))` (Platt 1999)."""

    intercept: float = 0.0
    slope: float = 1.0


@dataclass(frozen=True, slots=True)
class RelevanceCalibration:
    """How to calibrate a user's relevance of hits, `answerable`, and relevance over several hops."""

    relevance: LogitScale = field(default_factory=LogitScale)
    answerable: LogitScale = field(default_factory=LogitScale)
    hops: LogitScale = field(default_factory=LogitScale)

    @classmethod
    def from_millionths(cls, values: Sequence[int]) -> RelevanceCalibration:
        """The calibration that is stored as six integers."""
        numbers = [value / _MILLION for value in values]
        return cls(*(LogitScale(*numbers[start : start + 2]) for start in range(0, len(numbers), 2)))

    @property
    def millionths(self) -> list[int]:
        """The calibration as the six integers that are stored."""
        scales = (self.relevance, self.answerable, self.hops)
        return [round(value * _MILLION) for scale in scales for value in (scale.intercept, scale.slope)]


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration, the numbers of judged questions and hits that it was fitted to, and the time of the fit."""

    calibration: RelevanceCalibration
    questions: int
    hits: int
    fitted_at: datetime
