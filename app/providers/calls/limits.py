"""Limits the calls to a provider: their rate, how many run at once, and the share of them that are retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

BURST_S = 10.0
"""Seconds of unused rate that a burst may use up."""
RESERVED_SHARE = 0.5
"""Share of a burst, and of the concurrent calls, that calls in bulk leave to queries."""
RETRY_SHARE = 0.1
MAX_RETRIES_SAVED = 10.0


class RequestRate:
    """A token bucket that is refilled `per_minute` times a minute; 0 is no limit."""

    def __init__(self, per_minute: int) -> None:
        self._per_s = per_minute / 60
        self._capacity = max(1.0, self._per_s * BURST_S)
        self._tokens = self._capacity
        self._refilled_at = monotonic()

    async def wait(self, *, bulk: bool) -> None:
        """Take one token; wait while there is none, or in bulk while a query may need it."""
        if not self._per_s:
            return
        if bulk:
            left = 1 + RESERVED_SHARE * (self._capacity - 1)
            while (missing := left - self._refill()) > 0:  # noqa: ASYNC110 - time refills the bucket
                await asyncio.sleep(missing / self._per_s)
        missing = 1 - self._refill()
        self._tokens -= 1
        try:
            await asyncio.sleep(max(0.0, missing / self._per_s))
        except asyncio.CancelledError:
            self._tokens += 1
            raise

    def _refill(self) -> float:
        now = monotonic()
        self._tokens = min(self._capacity, self._tokens + (now - self._refilled_at) * self._per_s)
        self._refilled_at = now
        return self._tokens


class ConcurrentCalls:
    """At most `count` calls at once, of which calls in bulk take at most half."""

    def __init__(self, count: int) -> None:
        self._all = asyncio.Semaphore(count)
        self._bulk = asyncio.Semaphore(max(1, int(count * RESERVED_SHARE)))

    @asynccontextmanager
    async def slot(self, *, bulk: bool) -> AsyncIterator[None]:
        """Hold one of the calls during a block."""
        if not bulk:
            async with self._all:
                yield
            return
        async with self._bulk, self._all:
            yield


class RetryBudget:
    """Allows one retry for every ten calls, and MAX_RETRIES_SAVED of them at once."""

    def __init__(self) -> None:
        self._saved = MAX_RETRIES_SAVED

    def count_call(self) -> None:
        """Count a first attempt."""
        self._saved = min(MAX_RETRIES_SAVED, self._saved + RETRY_SHARE)

    def spend(self) -> bool:
        """Take one retry; false if none is left."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True
