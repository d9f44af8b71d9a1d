"""Limits how long the service parses files of a request and of a user, and how many files it parses at once.

A user's time is a token bucket that gains one second per second. Each process counts for itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from cachetools import TTLCache
from fastapi import FastAPI

from app import errors
from app.concurrency.limiter import Limiter
from app.documents.files.file_reading import ParseLimits, ParseShare

PARSED_AT_ONCE, PARSED_OF_USER = 4, 2
"""Most files that are parsed at once, in all and for one user; each in its own process."""
WAITING, WAIT_S = 256, 300.0
"""Most files that wait to be parsed, and how many seconds a file waits at most."""
USER_S = 600.0
"""Capacity of a user's token bucket, in seconds of parsing."""
MAX_USERS = 100_000


def install(app: FastAPI, _settings: object) -> None:
    """Create the limits of an application."""
    app.state.parse_times = ParseTimes()


class ParseTimes:
    """The remaining time for parsing the files of each user. `clock` returns seconds."""

    def __init__(self, user_s: float = USER_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._user_s = user_s
        self._clock = clock
        self._full_at: TTLCache[str, float] = TTLCache(MAX_USERS, ttl=2 * user_s, timer=clock)
        self._places = Limiter(PARSED_AT_ONCE, of_user=PARSED_OF_USER, max_waiting=WAITING, timeout_s=WAIT_S)

    @contextmanager
    def share(self, user_id: str, limits: ParseLimits) -> Iterator[ParseShare]:
        """The time that the files of a request may use. The end of the block counts it. Raises `rate_limited`."""
        left_s = self._user_s - self._debt_s(user_id)
        if left_s <= 0:
            raise errors.RequestRefused(
                f"Parsing files of this user took {self._user_s:.0f} seconds: more are available as time passes.",
                retry_after_s=max(1, math.ceil(1 - left_s)),
                code="rate_limited",
            )
        share = ParseShare(min(limits.request_s, left_s), partial(self._places.turn, user_id))
        try:
            yield share
        finally:
            self._full_at[user_id] = self._clock() + self._debt_s(user_id) + share.used_s

    def _debt_s(self, user_id: str) -> float:
        return max(0.0, self._full_at.get(user_id, 0.0) - self._clock())
