"""Repeats a step of a write while other writes are in its way or the database is unavailable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import stamina

from app import errors

P = ParamSpec("P")
T = TypeVar("T")
BUSY_S = 30.0
"""How long a step is repeated while other writes of the user hold the lock."""


async def while_busy(step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a step that takes the user's lock. Raises Busy after BUSY_S seconds, and what else it raises."""
    repeated = stamina.AsyncRetryingCaller(attempts=None, timeout=BUSY_S, wait_initial=0.05, wait_max=0.5)
    return await repeated(errors.Busy, step, *args, **kwargs)


async def while_unavailable(seconds: float, step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a step. Raises DatabaseUnavailable or Busy after `seconds`, and what else the step raises."""
    most = min(2.0, seconds / 4)
    repeated = stamina.AsyncRetryingCaller(
        attempts=None, timeout=seconds, wait_initial=0.1, wait_max=most, wait_jitter=most / 2
    )
    return await repeated((errors.DatabaseUnavailable, errors.Busy), step, *args, **kwargs)
