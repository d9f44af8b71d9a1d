"""Runs work on texts in threads and stops it when its caller is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from app.concurrency import interruption
from app.concurrency.offload import Threads

T = TypeVar("T")
LARGE = 200_000
"""Characters from which a text is processed in one of two dedicated threads. A user has one of them.

Searches and small documents thus never wait for a thread behind large ones, and no user for those of another.
"""
_large = Threads(2, of_user=1)
_small = Threads(4, of_user=2)


async def run(characters: int, work: Callable[[], T]) -> T:
    """The result of `work` from a thread; it ends at its next `interruption.point` once the caller is cancelled.

    `characters` is the length of the text, which selects the threads.
    """
    stopped = threading.Event()
    threads = _large if characters >= LARGE else _small
    try:
        return await threads.run(partial(interruption.run, work, stopped))
    finally:
        stopped.set()
