"""Limits concurrent work with a queue that serves the waiting users round-robin.

At most `max_running` turns are held at a time, at most `of_user` of them by a user, and a free one is always granted to
a user who may have it. Other requests wait: one line per user, first come, first served within a line, and the lines
are served round-robin (Nagle 1987, "On packet switches with infinite storage"). A user with one request therefore waits
for at most one request of each other user, however many those have queued. Waiting is bounded in time and in number; a
request that cannot be served in time is refused at once with the time after which it is worth coming back.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager

from app import errors

OBSERVED = 32
"""Latest turns from which the time of a turn is estimated."""
LONGEST_RETRY_S = 60

_REFUSED = "The service is busy with other requests: try again after the seconds that Retry-After names."


class Turn:
    """A request's place in a FairQueue: waiting, running, or given back for a while."""

    def __init__(self, queue: FairQueue, user: Hashable) -> None:
        self.user = user
        self.waited_s = 0.0
        """Time spent waiting, in seconds, all waits of the request together."""
        self._queue = queue
        self._granted: asyncio.Future[None] | None = None
        self._held_since: float | None = None
        self._started = False

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Give the turn back during the block, and wait for it again at the front of the user's line afterwards.

        For waits on something else than this machine. The second wait has no time limit of its own: the caller's
        deadline ends it. When the block is cancelled, the turn is not taken again. Within another such block this
        does nothing.
        """
        if self._held_since is None:
            yield
            return
        failure: Exception | None = None
        with self._queue._without(self):
            try:
                yield
            except Exception as error:
                failure = error
        await self._queue._resume(self)
        if failure is not None:
            raise failure


class FairQueue:
    """At most `max_running` turns at a time; at most `max_waiting` requests wait, each `timeout_s` seconds at most.

    A user holds at most `of_user` turns, by default all of them. `clock` returns seconds and never goes back.
    """

    def __init__(
        self,
        max_running: int,
        *,
        max_waiting: int,
        timeout_s: float,
        of_user: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_running = max_running
        self._of_user = max_running if of_user is None else of_user
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._clock = clock
        self._lines: OrderedDict[Hashable, deque[Turn]] = OrderedDict()
        self._running = self._waiting = self._released = 0
        self._running_of: Counter[Hashable] = Counter()
        self._took_s: deque[float] = deque(maxlen=OBSERVED)

    @property
    def running(self) -> int:
        """Requests that hold a turn now."""
        return self._running

    @property
    def waiting(self) -> int:
        """Requests that wait for a turn now."""
        return self._waiting

    @asynccontextmanager
    async def turn(self, user: Hashable) -> AsyncIterator[Turn]:
        """Hold a turn during the block. Raises Overloaded where none can be had in time.

        Cancelling the caller gives up the turn or the place in the line.
        """
        turn = Turn(self, user)
        if self._is_free_for(user):
            self._start(turn)
        else:
            self._make_room(user)
            await self._wait(turn, timeout_s=self._timeout_s)
        try:
            yield turn
        finally:
            self._end(turn)

    def _is_free_for(self, user: Hashable) -> bool:
        return self._running < self._max_running and self._running_of[user] < self._of_user

    def _make_room(self, user: Hashable) -> None:
        """Raises Overloaded unless one more request of this user may wait.

        Where all places are taken, the last request of the longest line leaves for a user who has fewer waiting.
        """
        if self._expected_wait_s(user) > self._timeout_s:
            raise self._refusal()
        if self._waiting + self._released < self._max_waiting:
            return
        longest = max(self._lines.values(), key=len, default=deque())
        if len(longest) <= len(self._lines.get(user, ())) + 1 or longest[-1]._started:
            raise self._refusal()
        last = longest[-1]
        self._leave(last)
        if last._granted is not None and not last._granted.done():
            last._granted.set_exception(self._refusal())

    def _expected_wait_s(self, user: Hashable) -> float:
        """How long a further request of this user would wait at least, by the lower quartile of the latest turns."""
        if not self._took_s:
            return 0.0
        own = len(self._lines.get(user, ()))
        others = sum(min(len(line), own + 1) for other, line in self._lines.items() if other != user)
        rounds = max((own + 1) / self._of_user, (own + others + 1) / self._max_running)
        return rounds * sorted(self._took_s)[len(self._took_s) // 4]

    def _refusal(self) -> errors.Overloaded:
        mean_s = statistics.fmean(self._took_s) if self._took_s else 0.0
        drained_s = math.ceil(self._waiting * mean_s / self._max_running)
        return errors.Overloaded(_REFUSED, retry_after_s=max(1, min(LONGEST_RETRY_S, drained_s)))

    async def _wait(self, turn: Turn, *, timeout_s: float | None) -> None:
        """Wait in the user's line until the turn is granted; a request that ran before goes to the front."""
        since = self._clock()
        granted = turn._granted = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(turn.user, deque())
        if turn._started:
            line.appendleft(turn)
        else:
            line.append(turn)
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                await granted
        except BaseException as error:
            self._leave(turn)
            self._end(turn)
            if isinstance(error, TimeoutError):
                raise self._refusal() from None
            raise
        finally:
            turn.waited_s += self._clock() - since

    def _leave(self, turn: Turn) -> None:
        """Take a request out of its line, if it stands there."""
        line = self._lines.get(turn.user)
        if line is None or turn not in line:
            return
        line.remove(turn)
        self._waiting -= 1
        if not line:
            del self._lines[turn.user]

    def _start(self, turn: Turn) -> None:
        self._running += 1
        self._running_of[turn.user] += 1
        turn._started = True
        turn._held_since = self._clock()

    def _end(self, turn: Turn) -> None:
        """Take the turn from a request that holds one, and grant it to the next."""
        if turn._held_since is None:
            return
        self._took_s.append(self._clock() - turn._held_since)
        turn._held_since = None
        self._running -= 1
        self._running_of[turn.user] -= 1
        if not self._running_of[turn.user]:
            del self._running_of[turn.user]
        self._grant()

    def _grant(self) -> None:
        """Grant the free turns to the first of each line, one line after the other."""
        while self._lines and self._running < self._max_running:
            user = next(filter(self._is_free_for, self._lines), None)
            if user is None:
                return
            turn = self._lines[user][0]
            self._leave(turn)
            if user in self._lines:
                self._lines.move_to_end(user)
            if turn._granted is not None and not turn._granted.done():
                self._start(turn)
                turn._granted.set_result(None)

    @contextmanager
    def _without(self, turn: Turn) -> Iterator[None]:
        """Count the request among those that wait while it has given its turn back."""
        self._end(turn)
        self._released += 1
        try:
            yield
        finally:
            self._released -= 1

    async def _resume(self, turn: Turn) -> None:
        if self._is_free_for(turn.user):
            self._start(turn)
        else:
            await self._wait(turn, timeout_s=None)
