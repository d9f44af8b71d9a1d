"""Shares a few threads between users: the work of each waits in a line of its own, and the lines are served in turn.

The threads are daemons, so that the process does not wait for their work when it ends.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

SWITCH_S = 0.0005
"""Seconds after which a thread lets the event loop continue, a tenth of Python's; a request waits for it many times."""
_user: ContextVar[str] = ContextVar("user_of_work", default="")


def work_for(user_id: str) -> None:
    """Count the work that the running task submits from now on as work for this user."""
    _user.set(user_id)


@dataclass(frozen=True, slots=True)
class _Work:
    user: str
    call: Callable[[], Any]
    future: Future[Any]


class UserThreads:
    """At most `threads` threads, which are started when they are needed; at most `of_user` work for one user."""

    def __init__(self, threads: int, *, of_user: int, name: str) -> None:
        self._most, self._of_user, self._name = threads, of_user, name
        self._started = 0
        self._lines: OrderedDict[str, deque[_Work]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """The future result of a call, which is work for the user of the running task."""
        work = _Work(_user.get(), call, Future())
        with self._changed:
            self._lines.setdefault(work.user, deque()).append(work)
            if self._started < self._most:
                self._started += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._started}", daemon=True).start()
            self._changed.notify()
        return work.future

    def _serve(self) -> None:
        sys.setswitchinterval(SWITCH_S)
        while True:
            _run(work := self._next())
            with self._changed:
                self._running[work.user] -= 1
                self._running += Counter()  # without users that have no work
                self._changed.notify()
            del work  # whose result would otherwise be kept until the next one

    def _next(self) -> _Work:
        """The first work of the next line whose user may have more work running; waits for one."""
        with self._changed:
            while (user := self._next_user()) is None:
                self._changed.wait()
            line = self._lines.pop(user)
            work = line.popleft()
            if line:
                self._lines[user] = line
            self._running[user] += 1
            return work

    def _next_user(self) -> str | None:
        return next((user for user in self._lines if self._running[user] < self._of_user), None)


def _run(work: _Work) -> None:
    if not work.future.set_running_or_notify_cancel():
        return
    try:
        result = work.call()
    except BaseException as error:
        work.future.set_exception(error)
    else:
        work.future.set_result(result)
