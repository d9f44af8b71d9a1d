"""Limits how many requests per minute a user may send.

Each has a token bucket that holds a minute's quota and fills up continuously: the generic cell rate algorithm (ITU-T
I.371), which needs one number per bucket. The counts belong to this process. Responses carry the headers of the IETF
draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache
from fastapi import FastAPI
from starlette.requests import Request

from app import errors

WINDOW_S = 60
MAX_BUCKETS = 100_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What is left of a quota after a request: whole requests, and the seconds until the quota is full again."""

    remaining: int
    reset_s: int
    retry_after_s: int | None = None
    """If the request exceeds the limit: the seconds until one is allowed."""


class RateLimit:
    """One quota of `quota` requests per minute for each user. `clock` in seconds."""

    def __init__(self, quota: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.quota = quota
        self._clock = clock
        self._interval_s = WINDOW_S / quota
        self._full_at: TTLCache[str, float] = TTLCache(MAX_BUCKETS, ttl=WINDOW_S, timer=clock)

    def spend(self, user: str) -> Spent:
        """Take one request out of a user's bucket; an empty one stays as it is."""
        now = self._clock()
        full_at = max(now, self._full_at.get(user, now)) + self._interval_s
        excess_s = full_at - now - WINDOW_S
        if excess_s > 1e-9:
            return Spent(0, math.ceil(full_at - self._interval_s - now), max(1, math.ceil(excess_s)))
        self._full_at[user] = full_at
        return Spent(int(-excess_s / self._interval_s + 1e-6), math.ceil(full_at - now))

    def count(self, request: Request, *, user: str) -> None:
        """Count one request of a user, and have the response say what is left. Raises `rate_limited`."""
        spent = self.spend(user)
        request.state.response_headers = {
            "RateLimit-Policy": f'"user";q={self.quota};w={WINDOW_S}',
            "RateLimit": f'"user";r={spent.remaining};t={spent.reset_s}',
        }
        if spent.retry_after_s:
            raise errors.RequestRefused(
                "The limit of requests per minute is reached.", retry_after_s=spent.retry_after_s, code="rate_limited"
            )


def install(app: FastAPI, *, per_user: int) -> None:
    """Limit the requests per minute of each user; 0 is no limit."""
    app.state.rate_limit = RateLimit(per_user) if per_user else None
