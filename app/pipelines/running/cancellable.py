"""Runs work on texts in threads and stops it when its caller is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

T = TypeVar("T")
LARGE = 200_000
"""Characters from which a text is processed in one of two dedicated threads.

Searches and small documents thus never wait for a thread behind large ones.
"""
_large = ThreadPoolExecutor(2, thread_name_prefix="ingest")


class Stopped(Exception):
    """The caller of this work was cancelled."""


def never() -> None:
    """A check that never raises."""


async def run(characters: int, work: Callable[..., T]) -> T:
    """The result of `work(check=…)` from a thread; `check` raises Stopped once the caller is cancelled.

    `characters` is the length of the text, which selects the threads.
    """
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise Stopped

    try:
        threads = _large if characters >= LARGE else None
        return await asyncio.get_running_loop().run_in_executor(threads, partial(work, check=check))
    finally:
        stopped.set()
