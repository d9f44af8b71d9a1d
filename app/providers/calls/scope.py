"""Carries the user and the deadline of a request to the provider calls that it makes.

The scope is a context variable, since a call passes through protocols whose methods take a text and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import monotonic

BULK_RETRY_S = 10.0
"""How long a call in bulk starts new attempts while a client waits for the response."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """The request in progress: its user, its deadline (monotonic clock), and how long calls in bulk are retried."""

    user_id: str | None = None
    deadline: float = math.inf
    bulk_retry_s: float = BULK_RETRY_S


_current: ContextVar[CallScope | None] = ContextVar("call_scope", default=None)


def current() -> CallScope:
    """The scope of the running request; without a user and a deadline outside of one."""
    return _current.get() or CallScope()


@contextmanager
def entered(user_id: str, *, seconds: float) -> Iterator[None]:
    """Run a block as a request of this user that ends in `seconds` seconds at the latest."""
    with _set(CallScope(user_id, monotonic() + seconds)):
        yield


@contextmanager
def retrying_bulk(seconds: float) -> Iterator[None]:
    """Let the calls in bulk of a block start new attempts for `seconds` seconds."""
    with _set(replace(current(), bulk_retry_s=seconds)):
        yield


@contextmanager
def _set(scope: CallScope) -> Iterator[None]:
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)
