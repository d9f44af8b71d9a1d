"""Runs text processing in threads that stop soon after their caller is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

T = TypeVar("T")
LARGE = 200_000
"""Characters from which texts are cleaned and cut in one of two threads of their own.

Searches and small documents then never wait for a thread behind large ones.
"""
_large = ThreadPoolExecutor(2, thread_name_prefix="ingest")


class Stopped(Exception):
    """Nobody waits for this work any more."""


def never() -> None:
    """The check of work that is not cancelled."""


async def run(characters: int, work: Callable[..., T]) -> T:
    """Run `work(check=…)` on so much text in a thread; once the caller is cancelled, `check` raises there."""
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise Stopped

    try:
        threads = _large if characters >= LARGE else None
        return await asyncio.get_running_loop().run_in_executor(threads, partial(work, check=check))
    finally:
        stopped.set()
