"""Stops calling a remote provider that keeps failing (the circuit breaker pattern).

A breaker belongs to one provider and model. It is closed while calls succeed, and opens after FAILURES failures in a
row: calls then raise ProviderError at once. After PAUSE_S seconds it is half-open and lets one call through, whose
outcome closes it or opens it again. An answer with status 429 or 503 opens it for as long as its Retry-After says.

The libraries for this either need Tornado for coroutines (pybreaker), or count a call that its caller cancelled as
a success and let every call through while half-open (purgatory).
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic, time
from typing import Literal, NamedTuple

from app import errors

FAILURES = 3
PAUSE_S = 15.0
LONGEST_PAUSE_S = 60.0
BUSY = frozenset({429, 503})
REFUSED = frozenset({401, 403})
"""Statuses of a missing or exhausted account; other 4xx depend on the request and do not count."""

log = logging.getLogger(__name__)

State = Literal["closed", "half_open", "open"]


class ProviderModel(NamedTuple):
    """What a breaker guards: the role in this service (`llm`, `reranker`), the provider and its model."""

    role: str
    provider: str
    model: str


class ProviderDown(errors.ProviderError):
    """The provider failed whatever the request was; `pause_s` is the pause that it requested, in seconds."""

    def __init__(self, message: str, *, pause_s: float | None = None) -> None:
        super().__init__(message)
        self.pause_s = pause_s


class Breaker:
    """Guards the calls to one provider and limits each to `timeout_s` seconds in all."""

    def __init__(self, target: ProviderModel, *, timeout_s: float) -> None:
        self.target = target
        self._timeout_s = timeout_s
        self._failures = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """`open` while calls are refused, `half_open` from then until one has succeeded, else `closed`."""
        if self._open_until is None:
            return "closed"
        return "open" if monotonic() < self._open_until else "half_open"

    @asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """Run one call to the provider in this context.

        Raises ProviderError at once while open, and ProviderDown after `timeout_s`. ProviderDown and a timeout count as
        failures. A call that is cancelled because its caller left counts as neither.
        """
        state = self.state
        if state == "open" or (state == "half_open" and self._probing):
            raise errors.ProviderError("The provider failed repeatedly and is not called for a while.")
        self._probing = state == "half_open"
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            self._failed()
            raise ProviderDown("The provider did not answer in time.") from error
        except asyncio.CancelledError:
            # Both limits may be over: the caller's cancellation then hides this one.
            if limit.expired():
                self._failed()
            raise
        except ProviderDown as error:
            self._failed(error.pause_s)
            raise
        except errors.ProviderError:
            self._succeeded()
            raise
        else:
            self._succeeded()
        finally:
            if state == "half_open":
                self._probing = False

    def _succeeded(self) -> None:
        if self._open_until is not None:
            log.info("provider answers again", extra={"action": "breaker_closed", **self.target._asdict()})
        self._failures, self._open_until = 0, None

    def _failed(self, pause_s: float | None = None) -> None:
        self._failures += 1
        if pause_s is None and self._open_until is None and self._failures < FAILURES:
            return
        if self._open_until is None:
            log.warning("provider keeps failing", extra={"action": "breaker_opened", **self.target._asdict()})
        until = monotonic() + (PAUSE_S if pause_s is None else pause_s)
        self._open_until = max(until, self._open_until or 0.0)


def down(status: int, headers: Mapping[str, str], message: str) -> errors.ProviderError:
    """The error for an answer with this status: ProviderDown where the provider is to blame."""
    if status in BUSY:
        return ProviderDown(message, pause_s=_retry_after(headers))
    return ProviderDown(message) if status >= 500 or status in REFUSED else errors.ProviderError(message)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds to wait, from a number or a date, at most LONGEST_PAUSE_S; 1 where there is neither."""
    given = headers.get("retry-after", "1")
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time()
        except (ValueError, OverflowError):
            return 1.0
    return min(max(0.0, seconds), LONGEST_PAUSE_S)
