"""Runs work on texts in threads, and stops it between two of its pieces when its caller is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from threading import Event
from typing import TypeVar

from app.concurrency.offload import Threads

T = TypeVar("T")
LARGE = 200_000
"""Characters from which a text is processed in one of two dedicated threads. A user has one of them.

Searches and small documents thus never wait for a thread behind large ones, and no user for those of another.
"""
_large = Threads(2, of_user=1)
_small = Threads(4, of_user=2)
_stopped: ContextVar[Event | None] = ContextVar("work_stopped", default=None)


class Stopped(Exception):
    """The work is to end."""


async def run(characters: int, work: Callable[[], T]) -> T:
    """Returns the result of `work` from a thread. The work ends at its next `point` once the caller is cancelled.

    `characters` is the length of the text, which selects the threads.
    """
    stopped = Event()
    threads = _large if characters >= LARGE else _small
    try:
        return await threads.run(partial(_run, work, stopped))
    finally:
        stopped.set()


def point() -> None:
    """Raises Stopped if the work in progress is to end. Long work calls it between two of its pieces."""
    if (stopped := _stopped.get()) is not None and stopped.is_set():
        raise Stopped


def _run(work: Callable[[], T], stopped: Event) -> T:
    token = _stopped.set(stopped)
    try:
        return work()
    finally:
        _stopped.reset(token)
