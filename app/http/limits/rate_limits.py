"""Limits how many requests per minute a user or an API key may send.

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
    """One quota of `quota` requests per minute for each bucket. `clock` in seconds."""

    def __init__(self, name: str, quota: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.quota = quota
        self._clock = clock
        self._interval_s = WINDOW_S / quota
        self._full_at: TTLCache[str, float] = TTLCache(MAX_BUCKETS, ttl=WINDOW_S, timer=clock)

    def spend(self, bucket: str) -> Spent:
        """Take one request out of a bucket; an empty one stays as it is."""
        now = self._clock()
        full_at = max(now, self._full_at.get(bucket, now)) + self._interval_s
        excess_s = full_at - now - WINDOW_S
        if excess_s > 1e-9:
            return Spent(0, math.ceil(full_at - self._interval_s - now), max(1, math.ceil(excess_s)))
        self._full_at[bucket] = full_at
        return Spent(int(-excess_s / self._interval_s + 1e-6), math.ceil(full_at - now))


class RateLimits:
    """The limits that are switched on."""

    def __init__(self, *, per_user: int, per_key: int) -> None:
        quotas = {"user": per_user, "key": per_key}
        self._limits = [RateLimit(name, quota) for name, quota in quotas.items() if quota]

    def spend(self, request: Request, *, user: str, key: str | None) -> None:
        """Count one request of a user and a key, and have the response say what is left. Raises `rate_limited`."""
        buckets = {"user": user, "key": key}
        spent = [(limit, limit.spend(bucket)) for limit in self._limits if (bucket := buckets[limit.name])]
        if spent:
            request.state.response_headers = _headers(spent)
        waits = [one.retry_after_s for _, one in spent if one.retry_after_s]
        if waits:
            raise errors.RequestRefused(
                "The limit of requests per minute is reached.", retry_after_s=max(waits), code="rate_limited"
            )


def _headers(spent: list[tuple[RateLimit, Spent]]) -> dict[str, str]:
    return {
        "RateLimit-Policy": ", ".join(f'"{limit.name}";q={limit.quota};w={WINDOW_S}' for limit, _ in spent),
        "RateLimit": ", ".join(f'"{limit.name}";r={one.remaining};t={one.reset_s}' for limit, one in spent),
    }


def install(app: FastAPI, *, per_user: int, per_key: int) -> None:
    """Limit the requests per minute of each user and each key; 0 is no limit."""
    app.state.rate_limits = RateLimits(per_user=per_user, per_key=per_key)
