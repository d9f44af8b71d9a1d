"""Applies one policy to the calls of each remote model: deadline, retries, circuit breaker, limits, single flight.

A call for a query ends at its provider's timeout or at the deadline of the request, whichever is earlier; within it, a
failure of the provider is retried twice, after a random wait or after the provider's Retry-After, as long as the retry
budget lasts. A call in bulk (passages of an ingest) may take longer, and is retried until its own time is over,
an open breaker included.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeVar

import stamina

from app import errors
from app.providers.calls import scope
from app.providers.calls.breaker import COUNTED, Breaker, NotCalled, ProviderDown, ProviderModel
from app.providers.calls.flights import Flights
from app.providers.calls.limits import ConcurrentCalls, RequestRate, RetryBudget

Result = TypeVar("Result")
Outcome = Literal["answered", "failed", "rejected", "not_called"]
MAX_ATTEMPTS = 3
"""Of a query, and of passages whose vectors are unusable."""
LASTING = frozenset({"key", "tls"})
"""Faults that a retry does not correct."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
"""Upper bound of the random wait before the first retry, and before any; it doubles from one retry to the next."""
LEAST_SHARE = 0.25
"""Share of a query's timeout that must be left when a retry starts."""
BULK_ATTEMPT_S = 60.0


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of the calls to one model: seconds for a query, calls at once, and calls per minute (0: no limit)."""

    timeout_s: float
    concurrent: int = 8
    per_minute: int = 0


@dataclass(slots=True)
class _Attempts:
    """The attempts of one call: when the last may start and when each must end, on the monotonic clock."""

    bulk: bool
    last_start: float
    deadline: float
    failures: int = 0

    def left_s(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if math.isinf(self.deadline) else self.deadline - monotonic()

    def timeout_s(self) -> float:
        """Seconds that one attempt may take."""
        left_s = BULK_ATTEMPT_S if (left := self.left_s()) is None else left
        return min(left_s, BULK_ATTEMPT_S) if self.bulk else left_s

    def wait_s(self, error: Exception) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        self.failures += 1
        if not isinstance(error, (*COUNTED, NotCalled) if self.bulk else COUNTED) or error.fault in LASTING:
            return None
        if self.failures >= MAX_ATTEMPTS and not (self.bulk and isinstance(error, ProviderDown | NotCalled)):
            return None
        bound_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(self.failures - 1, 10))
        wait_s = (getattr(error, "pause_s", None) or 0.0) + random.uniform(0, bound_s)
        return wait_s if monotonic() + wait_s < self.last_start else None


def is_outage(error: Exception) -> bool:
    """Whether a call failed because its provider is down, busy or therefore not called, and may succeed later."""
    return isinstance(error, ProviderDown | NotCalled) and error.fault not in LASTING


class CallPolicy:
    """The policy of one model. `outcomes` counts the attempts by outcome."""

    def __init__(self, target: ProviderModel, limits: CallLimits) -> None:
        self.target = target
        self.breaker = Breaker(target)
        self.outcomes: Counter[Outcome] = Counter()
        self._timeout_s = limits.timeout_s
        self._rate = RequestRate(limits.per_minute)
        self._slots = ConcurrentCalls(limits.concurrent)
        self._budget = RetryBudget()
        self._flights: Flights[Hashable, Any] = Flights()

    async def shared(self, key: Hashable, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of a query, of which equal ones (`key`) of the same user run once at a time."""
        user_id = scope.current().user_id
        if user_id is None:
            return await self.call(work)
        result: Result = await self._flights.join((user_id, key), lambda: self.call(work))
        return result

    async def call(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of a query. Raises ProviderError."""
        deadline = min(monotonic() + self._timeout_s, scope.current().deadline)
        last_start = deadline - LEAST_SHARE * self._timeout_s
        return await self._run(work, _Attempts(bulk=False, last_start=last_start, deadline=deadline))

    async def bulk(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of a call for an ingest. Raises ProviderError."""
        deadline = scope.current().deadline
        last_start = min(monotonic() + scope.current().bulk_retry_s, deadline)
        return await self._run(work, _Attempts(bulk=True, last_start=last_start, deadline=deadline))

    async def _run(self, work: Callable[[], Awaitable[Result]], attempts: _Attempts) -> Result:
        self._budget.count_call()

        def wait_s(error: Exception) -> float | bool:
            wait = attempts.wait_s(error)
            if wait is None or not (attempts.bulk or self._budget.spend()):
                return False
            return wait

        async for attempt in stamina.retry_context(on=wait_s, attempts=None, timeout=None):
            with attempt, self._counted():
                return await self._attempt(work, attempts)
        raise AssertionError("unreachable")

    async def _attempt(self, work: Callable[[], Awaitable[Result]], attempts: _Attempts) -> Result:
        self.breaker.check()
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(attempts.left_s()):
                    await self._rate.wait(bulk=attempts.bulk)
                    await stack.enter_async_context(self._slots.slot(bulk=attempts.bulk))
            except TimeoutError as error:
                raise NotCalled("Too many calls to the provider wait for their turn.") from error
            if (timeout_s := attempts.timeout_s()) <= 0:
                raise NotCalled("The deadline of the request is over.")
            async with self.breaker.guard(timeout_s):
                return await work()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count one attempt by its outcome; not one whose caller left."""
        try:
            yield
        except NotCalled:
            self.outcomes["not_called"] += 1
            raise
        except COUNTED:
            self.outcomes["failed"] += 1
            raise
        except errors.ProviderError:
            self.outcomes["rejected"] += 1
            raise
        self.outcomes["answered"] += 1
