"""Adapts how much one transaction writes to its duration, because the user's other writes wait for it."""

from __future__ import annotations

from dataclasses import dataclass

SHORT_S, LONG_S = 0.2, 0.5
"""Durations of a transaction below which the next one writes more, and above which it writes less."""


@dataclass(slots=True)
class Pace:
    """The number of items that the next transaction writes, and its bounds."""

    size: int
    fewest: int
    most: int

    def note(self, written: int, seconds: float) -> None:
        """Adapt to the duration of a transaction that has written this many items."""
        if seconds > LONG_S:
            self.size = max(self.fewest, min(self.size, written) // 2)
        elif seconds < SHORT_S and written >= self.size:
            self.size = min(self.most, 2 * self.size)
