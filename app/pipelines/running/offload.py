"""Runs CPU-bound work outside the event loop when its input is large.

Work on a small input is called inline, because a hop to a thread and back costs a search more than the work itself.
The threads are few: each running thread may hold the interpreter lock for a switch interval before the event loop
gets it back. A user has one of them, since two would take turns with the same lock.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from app.pipelines.running.user_threads import UserThreads

P = ParamSpec("P")
T = TypeVar("T")

INLINE = 20_000
"""Largest size that is worked on inline, in characters or operations: about a millisecond of Python."""
THREADS, THREADS_OF_USER = 3, 1

_threads = UserThreads(THREADS, of_user=THREADS_OF_USER, name="stepwell-cpu")


async def run(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of `work(*args, **kwargs)`, from a thread if `size` is over INLINE."""
    if size <= INLINE:
        return work(*args, **kwargs)
    call = partial(contextvars.copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.wrap_future(_threads.submit(call))
