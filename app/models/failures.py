"""Defines how calls of remote models fail, and which failures are the provider's."""

from __future__ import annotations

import email.utils
import math
from collections.abc import Mapping
from time import time

from app import errors
from app.errors import ProviderFault

LONGEST_PAUSE_S = 60.0
BUSY = frozenset({429, 503})
REFUSED = frozenset({401, 403})
"""Statuses of a missing or exhausted account; other 4xx depend on the request."""
LASTING = frozenset({"key", "tls"})
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


def is_outage(error: BaseException) -> bool:
    """Whether a call failed because its provider is down or busy, and may succeed later."""
    return isinstance(error, ProviderDown) and error.fault not in LASTING


def is_of_provider(error: BaseException) -> bool:
    """Whether a call failed because of the provider, not of the request."""
    return isinstance(error, ProviderDown | errors.BadEmbedding)


def of_status(status: int, headers: Mapping[str, str], message: str) -> errors.ProviderError:
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
