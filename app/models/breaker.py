"""Stops calling a remote model that keeps failing (the circuit breaker pattern)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from app import errors
from app.kinds import BreakerState
from app.models.failures import NotCalled, is_of_provider

FAILURES, WINDOW, PAUSE_S = 5, 10, 15.0


class Breaker:
    """Opens when FAILURES of the last WINDOW calls failed; lets one call through every PAUSE_S until one succeeds."""

    def __init__(self) -> None:
        self._failed: deque[bool] = deque(maxlen=WINDOW)
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
            self.open(PAUSE_S)
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
            self._open_until = None
        elif pause_s is not None or sum(self._failed) >= FAILURES:
            self.open(PAUSE_S if pause_s is None else pause_s)
