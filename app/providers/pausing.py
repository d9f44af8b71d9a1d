"""How long does a busy provider want to be left alone?"""

from __future__ import annotations

import time
from collections.abc import Mapping

LONGEST_PAUSE_S = 60.0
_BUSY = frozenset({429, 503})


class Pause:
    """After a 429 or 503 it lasts for as long as the answer's Retry-After says, at most a minute."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def lasts(self) -> bool:
        """Whether nothing should be asked now."""
        return time.monotonic() < self._until

    def note(self, status: int, headers: Mapping[str, str]) -> None:
        """Take in an answer's status and headers."""
        if status in _BUSY:
            self._until = time.monotonic() + _asked_for(headers)


def _asked_for(headers: Mapping[str, str]) -> float:
    """Seconds to wait; a date or nonsense counts as one second."""
    try:
        return min(max(float(headers.get("retry-after", "1")), 0.0), LONGEST_PAUSE_S)
    except ValueError:
        return 1.0
