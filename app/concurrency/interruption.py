"""Lets whoever runs long work on texts end it between two of its pieces."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

T = TypeVar("T")

_stopped: ContextVar[Event | None] = ContextVar("work_stopped", default=None)


class Stopped(Exception):
    """The work is to end."""


def run(work: Callable[[], T], stopped: Event) -> T:
    """Returns the result of some work, which ends at its next `point` once `stopped` is set. Raises Stopped."""
    token = _stopped.set(stopped)
    try:
        return work()
    finally:
        _stopped.reset(token)


def point() -> None:
    """Raises Stopped if the work in progress is to end; called between two pieces of it."""
    if (stopped := _stopped.get()) is not None and stopped.is_set():
        raise Stopped
