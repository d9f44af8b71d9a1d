"""Decides how long to wait before each look at a job."""

from __future__ import annotations

import time
from collections.abc import Iterator

FIRST_S, LONGEST_S = 0.1, 2.0


def pauses(timeout_s: float | None) -> Iterator[float]:
    """The pauses in seconds before each look: none before the first, then longer ones until the time is over."""
    ends = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = FIRST_S
    yield 0.0
    while ends is None or time.monotonic() < ends:
        yield pause_s if ends is None else max(0.0, min(pause_s, ends - time.monotonic()))
        pause_s = min(2 * pause_s, LONGEST_S)
