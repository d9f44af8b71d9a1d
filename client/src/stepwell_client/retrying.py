"""Decides whether and when a request is sent again.

429 and 503 are retried: the service did not do the work. 502, 504 and a connection that broke are retried only for
requests that change nothing more when they are sent twice. A response that names a wait longer than MAX_WAIT_S is not
waited for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

STATUSES = frozenset({429, 503})
STATUSES_IF_REPEATABLE = STATUSES | {502, 504}
Outcome = httpx.Response | httpx.HTTPError
MAX_WAIT_S = 30.0
FIRST_WAIT_S = 0.25


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a request is repeated, at most."""

    times: int = 3

    def waits(self) -> Iterator[float]:
        """The waits in seconds for a response without Retry-After: doubled each time, with full jitter."""
        for attempt in range(self.times):
            yield random.uniform(0, FIRST_WAIT_S * 2**attempt)


def wait_after(outcome: Outcome, otherwise: float, *, repeatable: bool) -> float | None:
    """The seconds to wait before the next attempt; None if there should be none."""
    if not isinstance(outcome, httpx.Response):
        broke = isinstance(outcome, httpx.NetworkError | httpx.RemoteProtocolError)
        return otherwise if repeatable and broke and not isinstance(outcome, httpx.ConnectError) else None
    if outcome.status_code not in (STATUSES_IF_REPEATABLE if repeatable else STATUSES):
        return None
    wait = _retry_after(outcome)
    if wait is None:
        return otherwise
    return wait if wait <= MAX_WAIT_S else None


def _retry_after(response: httpx.Response) -> float | None:
    header = response.headers.get("retry-after", "")
    if header.isdigit():
        return float(header)
    try:
        return max((parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
