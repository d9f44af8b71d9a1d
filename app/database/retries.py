"""Repeats a step of a write while other writes are in its way or the database is unavailable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import stamina

from app import errors

P = ParamSpec("P")
T = TypeVar("T")
BUSY_S = 30.0
"""Seconds for which a step is repeated while other writes hold the user's lock."""


async def while_busy(step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Repeat a step while it raises Busy, and return its result. Raises Busy after BUSY_S seconds, others at once."""
    repeated = stamina.AsyncRetryingCaller(attempts=None, timeout=BUSY_S, wait_initial=0.05, wait_max=0.5)
    return await repeated(errors.Busy, step, *args, **kwargs)


async def while_unavailable(seconds: float, step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Repeat a step for `seconds` while it raises DatabaseUnavailable or Busy, and return its result."""
    most = min(2.0, seconds / 4)
    repeated = stamina.AsyncRetryingCaller(
        attempts=None, timeout=seconds, wait_initial=0.1, wait_max=most, wait_jitter=most / 2
    )
    return await repeated((errors.DatabaseUnavailable, errors.Busy), step, *args, **kwargs)
