"""Runs CPU-bound work outside the event loop when its input is large, and stops it when its caller is cancelled.

Work on a small input is called inline, because a hop to a thread and back costs a search more than the work itself.
The threads are few: each running thread may hold the interpreter lock for a switch interval before the event loop
gets it back. They are daemons, so that the process does not wait for their work when it ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from app.concurrency.limiter import Limiter, Turn

P = ParamSpec("P")
T = TypeVar("T")

INLINE = 20_000
"""Largest size that is worked on inline, in characters or operations: about a millisecond of Python."""
SWITCH_S = 0.0005
"""Seconds after which a thread lets the event loop continue, a tenth of Python's; a request waits for it many times."""
LARGE = 200_000
"""Characters from which a text is processed in one of two dedicated threads. A user has one of them.

Searches and small documents thus never wait for a thread behind large ones, and a user never holds both threads.
"""
_user: ContextVar[str] = ContextVar("user_of_work", default="")
_stopped: ContextVar[Event | None] = ContextVar("work_stopped", default=None)


class Stopped(Exception):
    """The work is to end."""


def set_user(user_id: str) -> None:
    """Count the work that the running task submits from now on as work for this user."""
    _user.set(user_id)


class Threads:
    """Threads for a kind of work: at most `threads` in each event loop, and at most `of_user` for one user."""

    def __init__(self, threads: int, *, of_user: int) -> None:
        self._most, self._started = threads, 0
        self._works: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._new_limiter = partial(Limiter, threads, of_user=of_user)
        self._limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, Limiter] = WeakKeyDictionary()

    async def run(self, work: Callable[[], T]) -> T:
        """The result of the work from a thread. Work that has begun keeps its place to its end, awaited or not."""
        loop = asyncio.get_running_loop()
        limiter = self._limiters.get(loop) or self._limiters.setdefault(loop, self._new_limiter())
        turn = await limiter.begin(_user.get())
        try:
            working = asyncio.wrap_future(self._start(work))
        except RuntimeError:  # the system has no thread left
            turn.end()
            raise
        working.add_done_callback(partial(_end, turn))
        await asyncio.wait([working])
        return working.result()

    def _start(self, work: Callable[[], T]) -> Future[T]:
        result: Future[T] = Future()
        if self._started < self._most:
            threading.Thread(target=self._serve, daemon=True).start()
            self._started += 1
        self._works.put(partial(_run, work, result))
        return result

    def _serve(self) -> None:
        sys.setswitchinterval(SWITCH_S)
        while True:
            self._works.get()()


def _end(turn: Turn, work: asyncio.Future[T]) -> None:
    turn.end()
    work.exception()  # marks it as retrieved, where the caller has left


def _run(work: Callable[[], T], result: Future[T]) -> None:
    try:
        result.set_result(work())
    except BaseException as error:
        result.set_exception(error)


_waiting = Threads(4, of_user=4)
_threads = Threads(3, of_user=1)  # two of one user would only contend for the interpreter lock
_large = Threads(2, of_user=1)
_small = Threads(4, of_user=2)


async def run(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of `work(*args, **kwargs)`, from a thread if `size` is over INLINE."""
    if size <= INLINE:
        return work(*args, **kwargs)
    return await _threads.run(partial(contextvars.copy_context().run, partial(work, *args, **kwargs)))


async def wait_for(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of work that waits, such as a download. The exit does not wait for it, unlike `asyncio.to_thread`."""
    return await _waiting.run(partial(work, *args, **kwargs))


async def run_stoppable(characters: int, work: Callable[[], T]) -> T:
    """The result of `work` from a thread. The work ends at its next `check_stopped` once the caller is cancelled.

    `characters` is the length of the text, which selects the threads.
    """
    stopped = Event()
    threads = _large if characters >= LARGE else _small
    try:
        return await threads.run(partial(_run_until, stopped, work))
    finally:
        stopped.set()


def check_stopped() -> None:
    """Raises Stopped if the work in progress is to end. Long work calls it between two of its pieces."""
    if (stopped := _stopped.get()) is not None and stopped.is_set():
        raise Stopped


def _run_until(stopped: Event, work: Callable[[], T]) -> T:
    token = _stopped.set(stopped)
    try:
        return work()
    finally:
        _stopped.reset(token)
