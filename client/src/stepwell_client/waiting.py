"""Decides how long to wait between two looks at a job."""

from __future__ import annotations

import time
from collections.abc import Iterator

FIRST_S, LONGEST_S = 0.1, 2.0


def pauses(timeout_s: float | None) -> Iterator[float]:
    """The pauses in seconds, each longer than the one before, until the time is over; at least one."""
    ends = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = FIRST_S
    yield pause_s if timeout_s is None else min(pause_s, timeout_s)
    while ends is None or time.monotonic() < ends:
        pause_s = min(2 * pause_s, LONGEST_S)
        yield pause_s if ends is None else max(0.0, min(pause_s, ends - time.monotonic()))
