"""Calls remote models with a time limit, retries and a circuit breaker, and defines how calls fail.

A call for a query ends at its time limit, its retries included. A call in bulk, for passages of an ingest, may take a
minute and is retried until its patience is over, also while the breaker is open.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic, time
from typing import NamedTuple, TypeVar

import stamina

from app import errors
from app.enums import BreakerState
from app.errors import ProviderFault

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Work = Callable[[], Awaitable[Result]]
QUERY_ATTEMPTS = 3
LEAST_SHARE = 0.25
"""Share of a query's time limit that must be left when a retry starts."""
QUERY_WAIT_S = 0.4
"""Longest wait before a retry of a query."""
EARLY_S = 0.002
"""By how much a timer of uvloop, which counts milliseconds, may end before its time."""
BULK_ATTEMPT_S = 60.0
BULK_PATIENCE_S = 10.0
"""Seconds for which a call in bulk starts new attempts while a client waits for the response."""
BREAKER_FAILURES, BREAKER_WINDOW, BREAKER_PAUSE_S = 5, 10, 15.0
LONGEST_PAUSE_S = 60.0
BUSY = frozenset({429, 503})
REFUSED = frozenset({401, 403})
"""Statuses of a missing or exhausted account; other 4xx depend on the request."""
LASTING = frozenset({"key", "model", "tls"})
"""Faults that a retry does not correct."""


class ProviderDown(errors.ProviderError):
    """The provider failed whatever the request was; `pause_s` is the pause that it requested, in seconds."""

    def __init__(self, message: str, *, pause_s: float | None = None, fault: ProviderFault | None = None) -> None:
        super().__init__(message, fault=fault)
        self.pause_s = pause_s


class NotCalled(ProviderDown):
    """The provider was not called, because it failed before or is busy; it may be called in `pause_s` seconds."""

    def __init__(self, reason: str, *, pause_s: float = 0.0) -> None:
        super().__init__(f"{reason} It is not called for a while.", pause_s=min(max(0.0, pause_s), LONGEST_PAUSE_S))
        self.retry_after_s = max(1, math.ceil(self.pause_s or 0.0))


def log_failure(message: str, error: Exception, *, action: str) -> None:
    """Log a failed call, unless an open breaker refused it, which logs the outage once."""
    if not (isinstance(error, NotCalled) and error.pause_s):
        log.warning("%s: %s", message, errors.fault_of(error), extra={"action": action})


class ProviderModel(NamedTuple):
    """The role of a model in this service (`embedder`, `llm`, `reranker`), its provider and its name."""

    role: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Time limits in seconds: `query_s` for a query, and `bulk_s`, after which a call in bulk is not tried again."""

    query_s: float
    bulk_s: float = BULK_PATIENCE_S


class Breaker:
    """Refuses calls of a model that keeps failing (the circuit breaker pattern).

    It opens when BREAKER_FAILURES of the last BREAKER_WINDOW calls failed, or for the pause that a provider requests.
    Then it lets one call through every BREAKER_PAUSE_S until one succeeds. Logs when this begins and ends.
    """

    def __init__(self, target: ProviderModel) -> None:
        self._target = target._asdict()
        self._failed: deque[bool] = deque(maxlen=BREAKER_WINDOW)
        self._open_until: float | None = None

    @property
    def state(self) -> BreakerState:
        """`open` while calls are refused, `half_open` when the next one is let through, else `closed`."""
        if self._open_until is None:
            return "closed"
        return "open" if monotonic() < self._open_until else "half_open"

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Run one call in this context, or raise NotCalled. A call that is cancelled is not counted."""
        if self._open_until is not None:
            if self.state == "open":
                raise NotCalled("The provider failed repeatedly.", pause_s=self._open_until - monotonic())
            self.open(BREAKER_PAUSE_S)
        try:
            yield
            self._count(None)
        except NotCalled:
            raise
        except errors.ProviderError as error:
            self._count(error)
            raise

    def open(self, seconds: float) -> None:
        """Refuse calls for so many seconds."""
        self._open_until = monotonic() + seconds
        self._failed.clear()

    def _count(self, error: errors.ProviderError | None) -> None:
        has_failed = error is not None and is_of_provider(error)
        self._failed.append(has_failed)
        pause_s = getattr(error, "pause_s", None)
        if not has_failed:
            if self._open_until is not None:
                log.info("the model answers again", extra={"action": "model_reached", **self._target})
            self._open_until = None
        elif pause_s is not None or sum(self._failed) >= BREAKER_FAILURES:
            if error is not None and self._open_until is None:
                fault = errors.fault_of(error)
                log.warning("the model fails: %s", fault, extra={"action": "model_lost", **self._target})
            self.open(BREAKER_PAUSE_S if pause_s is None else pause_s)


class RemoteCalls:
    """The calls of one model. `outcomes` counts attempts: answered, failed, rejected, not_called."""

    def __init__(self, target: ProviderModel, times: CallTimes) -> None:
        self.target = target
        self.breaker = Breaker(target)
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
        """The result of a call in bulk. Raises ProviderError."""
        return await _retry(lambda: self._attempt(work, BULK_ATTEMPT_S), until=monotonic() + self._times.bulk_s)

    async def _attempt(self, work: Work[Result], seconds: float) -> Result:
        try:
            with self.breaker.guard():
                try:
                    async with asyncio.timeout(seconds):
                        result = await work()
                except TimeoutError as error:
                    raise ProviderDown("The provider did not answer in time.", fault="time") from error
        except errors.ProviderError as error:
            outcome = "failed" if is_of_provider(error) else "rejected"
            self.outcomes["not_called" if isinstance(error, NotCalled) else outcome] += 1
            raise
        self.outcomes["answered"] += 1
        return result


async def _retry(attempt: Work[Result], *, until: float, attempts: int | None = None) -> Result:
    """The result of the first attempt that succeeds; no failure after `until` on the monotonic clock is retried."""

    def wait(error: Exception) -> bool | float:
        """The whole pause that the provider requested, else an exponential one."""
        pause_s = getattr(error, "pause_s", None) or 0.0
        may_pass = isinstance(error, ProviderDown) and error.fault not in LASTING
        return may_pass and monotonic() + pause_s < until and (pause_s + EARLY_S if pause_s else True)

    async for one in stamina.retry_context(on=wait, attempts=attempts, timeout=None, wait_jitter=0.2):
        with one:
            return await attempt()
    raise AssertionError("unreachable")


def is_of_provider(error: BaseException) -> bool:
    """Whether a call failed because of the provider, not of the request."""
    return isinstance(error, ProviderDown | errors.BadEmbedding)


def error_for_status(status: int, headers: Mapping[str, str], message: str) -> errors.ProviderError:
    """The error for an answer with this status: ProviderDown where the provider is to blame."""
    if status in BUSY:
        return ProviderDown(message, pause_s=_retry_after(headers), fault="limit" if status == 429 else "server")
    if status in REFUSED:
        return ProviderDown(message, fault="key")
    if status == 404:
        return ProviderDown(message, fault="model")
    if status >= 500:
        return ProviderDown(message, fault="server")
    return errors.ProviderError(message, fault="request")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds to wait, from a number or a date, at most LONGEST_PAUSE_S; 1 where there is neither."""
    given, seconds = headers.get("retry-after", "1"), 1.0
    try:
        seconds = float(given)
    except ValueError:
        with suppress(ValueError, OverflowError):
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time()
    return min(max(0.0, seconds), LONGEST_PAUSE_S)
