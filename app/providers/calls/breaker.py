"""Stops calling a remote provider that keeps failing (the circuit breaker pattern).

A breaker belongs to one provider and model. It is closed while calls succeed, and opens after FAILURES failures in a
row, or when half of the last WINDOW calls failed and these were made within WINDOW_S seconds: calls then raise
NotCalled at once. After PAUSE_S seconds it is half-open and lets one call through, whose outcome closes it or opens
it again. An answer with status 429 or 503 opens it for as long as its Retry-After says.

The libraries for this either need Tornado for coroutines (pybreaker), or count a call that its caller cancelled as
a success and let every call through while half-open (purgatory).
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic, time
from typing import Literal, NamedTuple

from app import errors
from app.errors import ProviderFault

FAILURES = 5
WINDOW = 20
WINDOW_S = 30.0
FAILED_SHARE = 0.5
PAUSE_S = 15.0
LONGEST_PAUSE_S = 60.0
BUSY = frozenset({429, 503})
REFUSED = frozenset({401, 403})
"""Statuses of a missing or exhausted account; other 4xx depend on the request and do not count."""

log = logging.getLogger(__name__)

State = Literal["closed", "half_open", "open"]


class ProviderModel(NamedTuple):
    """What a breaker guards: the role in this service (`embedder`, `llm`, `reranker`), the provider and its model."""

    role: str
    provider: str
    model: str


class ProviderDown(errors.ProviderError):
    """The provider failed whatever the request was; `pause_s` is the pause that it requested, in seconds."""

    def __init__(self, message: str, *, pause_s: float | None = None, fault: ProviderFault | None = None) -> None:
        super().__init__(message, fault=fault)
        self.pause_s = pause_s


class NotCalled(errors.ProviderError):
    """The provider was not called, because it failed before or is busy; `pause_s` is the time until it may be."""

    def __init__(self, message: str, *, pause_s: float = 0.0, fault: ProviderFault | None = None) -> None:
        super().__init__(message, fault=fault)
        self.pause_s = pause_s
        self.retry_after_s = max(1, math.ceil(pause_s))


COUNTED = (ProviderDown, errors.BadEmbedding)
"""Errors that count as failures."""


class Breaker:
    """Guards the calls to one provider."""

    def __init__(self, target: ProviderModel) -> None:
        self.target = target
        self._failures = 0
        self._latest: deque[tuple[float, bool]] = deque(maxlen=WINDOW)
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """`open` while calls are refused, `half_open` from then until one has succeeded, else `closed`."""
        if self._open_until is None:
            return "closed"
        return "open" if monotonic() < self._open_until else "half_open"

    def keep_open(self) -> None:
        """Refuse all calls from now on."""
        self._open_until = math.inf

    def check(self) -> None:
        """Raise NotCalled if a call would be refused now."""
        if self.state == "open" or (self.state == "half_open" and self._probing):
            pause_s = min(max(0.0, (self._open_until or 0.0) - monotonic()), LONGEST_PAUSE_S)
            raise NotCalled("The provider failed repeatedly and is not called for a while.", pause_s=pause_s)

    @asynccontextmanager
    async def guard(self, timeout_s: float) -> AsyncIterator[None]:
        """Run one call to the provider in this context.

        Raises NotCalled at once while calls are refused, and ProviderDown after `timeout_s`. The errors in COUNTED and
        a timeout count as failures. A call that is cancelled because its caller left counts as neither.
        """
        self.check()
        probe = self.state == "half_open"
        self._probing = probe or self._probing
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            self._failed()
            raise ProviderDown("The provider did not answer in time.", fault="time") from error
        except asyncio.CancelledError:
            # Both limits may be over: the caller's cancellation then hides this one.
            if limit.expired():
                self._failed()
            raise
        except COUNTED as error:
            self._failed(getattr(error, "pause_s", None))
            raise
        except errors.ProviderError:
            self._succeeded()
            raise
        else:
            self._succeeded()
        finally:
            if probe:
                self._probing = False

    def _succeeded(self) -> None:
        if self._open_until is not None:
            log.info("provider answers again", extra={"action": "breaker_closed", **self.target._asdict()})
        self._failures, self._open_until = 0, None
        self._latest.append((monotonic(), False))

    def _failed(self, pause_s: float | None = None) -> None:
        self._failures += 1
        self._latest.append((monotonic(), True))
        if pause_s is None and self._open_until is None and not self._fails_too_often():
            return
        if self._open_until is None:
            log.warning("provider keeps failing", extra={"action": "breaker_opened", **self.target._asdict()})
        until = monotonic() + (PAUSE_S if pause_s is None else pause_s)
        self._open_until = max(until, self._open_until or 0.0)
        self._latest.clear()

    def _fails_too_often(self) -> bool:
        if self._failures >= FAILURES:
            return True
        recent = len(self._latest) == WINDOW and self._latest[0][0] >= monotonic() - WINDOW_S
        return recent and sum(failed for _, failed in self._latest) >= FAILED_SHARE * WINDOW


def down(status: int, headers: Mapping[str, str], message: str) -> errors.ProviderError:
    """The error for an answer with this status: ProviderDown where the provider is to blame."""
    if status in BUSY:
        return ProviderDown(message, pause_s=_retry_after(headers), fault="limit" if status == 429 else "server")
    if status in REFUSED:
        return ProviderDown(message, fault="key")
    if status >= 500:
        return ProviderDown(message, fault="server")
    return errors.ProviderError(message, fault="model" if status == 404 else "request")


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
