"""Calls remote models: a time limit, retries by stamina, a circuit breaker, and a count of the outcomes.

A call for a query ends at its time limit, its retries included. A call in bulk, for passages of an ingest, may take a
minute and is retried until its patience is over, also while the breaker is open.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple, TypeVar

import stamina

from app import errors
from app.models.breaker import Breaker
from app.models.failures import NotCalled, ProviderDown, is_of_provider, is_outage

Result = TypeVar("Result")
Work = Callable[[], Awaitable[Result]]
QUERY_ATTEMPTS = 3
LEAST_SHARE = 0.25
"""Share of a query's time limit that must be left when a retry starts."""
QUERY_WAIT_S = 0.4
"""Longest wait before a retry of a query."""
BULK_ATTEMPT_S = 60.0
BULK_PATIENCE_S = 10.0
"""Seconds for which a call in bulk starts new attempts while a client waits for the response."""


class ProviderModel(NamedTuple):
    """The role of a model in this service (`embedder`, `llm`, `reranker`), its provider and its name."""

    role: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Seconds that a query may take, and for which a call in bulk starts new attempts."""

    query_s: float
    bulk_s: float = BULK_PATIENCE_S


class RemoteCalls:
    """The calls of one model. `outcomes` counts attempts: answered, failed, rejected, not_called."""

    def __init__(self, target: ProviderModel, times: CallTimes) -> None:
        self.target = target
        self.breaker = Breaker()
        self.outcomes: Counter[str] = Counter()
        self._times = times

    async def query(self, work: Work[Result]) -> Result:
        """The result of a query. Raises ProviderError."""
        ends_at = monotonic() + self._times.query_s
        last_wait = ends_at - LEAST_SHARE * self._times.query_s - QUERY_WAIT_S
        return await _retry(
            lambda: self._attempt(work, ends_at - monotonic()), until=last_wait, attempts=QUERY_ATTEMPTS
        )

    async def bulk(self, work: Work[Result]) -> Result:
        """The result of a call for an ingest. Raises ProviderError."""
        return await _retry(lambda: self._attempt(work, BULK_ATTEMPT_S), until=monotonic() + self._times.bulk_s)

    async def _attempt(self, work: Work[Result], seconds: float) -> Result:
        try:
            with self.breaker.guard():
                result = await _limit(work, seconds)
        except errors.ProviderError as error:
            outcome = "failed" if is_of_provider(error) else "rejected"
            self.outcomes["not_called" if isinstance(error, NotCalled) else outcome] += 1
            raise
        self.outcomes["answered"] += 1
        return result


async def _limit(work: Work[Result], seconds: float) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await work()
    except TimeoutError as error:
        raise ProviderDown("The provider did not answer in time.", fault="time") from error


async def _retry(attempt: Work[Result], *, until: float, attempts: int | None = None) -> Result:
    """The result of the first attempt that succeeds; no failure after `until` on the monotonic clock is retried."""

    def wait(error: Exception) -> bool | float:
        """The pause that the provider requested, else an exponential one."""
        pause_s = getattr(error, "pause_s", None) or 0.0
        return is_outage(error) and monotonic() + pause_s < until and (pause_s or True)

    async for one in stamina.retry_context(on=wait, attempts=attempts, timeout=None, wait_jitter=0.2):
        with one:
            return await attempt()
    raise AssertionError("unreachable")
