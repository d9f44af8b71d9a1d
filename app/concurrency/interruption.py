"""Lets whoever runs long work on texts end it between two of its pieces."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_check: ContextVar[Callable[[], None] | None] = ContextVar("interruption_check", default=None)


def run(work: Callable[[], T], *, check: Callable[[], None]) -> T:
    """Returns the result of some work that is ended by the exception of `check`, which is called between its pieces."""
    token = _check.set(check)
    try:
        return work()
    finally:
        _check.reset(token)


def point() -> None:
    """Raises the exception with which the work in progress is to end, if it is; called between two pieces of it."""
    if (check := _check.get()) is not None:
        check()
