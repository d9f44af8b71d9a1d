"""Limits concurrent work, and shares its places fairly between users.

By default a user never holds all of several places, so that others find one free. If no place is free, requests wait:
one line per user, first come, first served within a line. A free place goes to the user who has used least, measured by
the time for which requests held places or by their number. A user who returns after a pause begins at the share of the
user served last, so that a pause saves nothing (start-time fair queueing: Goyal, Vin and Cheng 1996). Waiting is
bounded in time and in number; a request that cannot be served in time is refused at once, with the time after which it
is worth coming back.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from app import errors

OBSERVED = 32
"""Latest turns from which the time of a turn is estimated."""
LONGEST_RETRY_S = 60
MAX_SHARES = 10_000
"""Most users that are remembered; at this number, users without a request are forgotten."""
Rounds = Literal["time", "number"]
"""What is shared equally by the users: the time for which places are held, or the number of requests."""

_REFUSED = "The service is busy with other requests: try again after the seconds that Retry-After names."


class Released(Protocol):
    """Permission to run, which can be given back for a while."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Give the permission back while a block waits for something else than this machine."""
        ...


class Turn:
    """A request at a Limiter: waiting, holding a place, or without it for a while."""

    def __init__(self, limiter: Limiter, user: Hashable) -> None:
        self.user = user
        self._limiter = limiter
        self._granted: asyncio.Future[None] | None = None
        self._held_since: float | None = None
        self._started = False

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Give the place back during the block, and wait for one at the front of the user's line afterwards.

        The second wait has no time limit of its own: the caller's deadline ends it. When the block is cancelled, no
        place is taken again. Within another such block this does nothing.
        """
        if self._held_since is None:
            yield
            return
        failure: Exception | None = None
        limiter = self._limiter
        limiter._end(self)
        limiter._released += 1  # it counts as waiting
        try:
            yield
        except Exception as error:
            failure = error
        finally:
            limiter._released -= 1
        await limiter._take(self, timeout_s=None)
        if failure is not None:
            raise failure

    def end(self) -> None:
        """Give the place back for good, if it is held."""
        self._limiter._end(self)


@dataclass(slots=True)
class _User:
    """The waiting requests of a user, and what the earlier ones have used.

    `running_since` is the sum of the times at which the running requests began.
    """

    line: deque[Turn] = field(default_factory=deque)
    used: float = 0.0
    running: int = 0
    running_since: float = 0.0


class Limiter:
    """At most `places` requests run at a time; at most `max_waiting` wait, each `timeout_s` seconds at most.

    A user holds at most `of_user` places: by default one fewer than all, unless there is only one. `rounds` says what
    is shared equally between users, see `Rounds`. `clock` returns seconds and never goes back. `running` is the number
    of requests that hold a place, `waiting` the number of requests that wait for one.
    """

    def __init__(
        self,
        places: int,
        *,
        of_user: int | None = None,
        rounds: Rounds = "time",
        max_waiting: float = math.inf,
        timeout_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = places
        self._of_user = max(1, places - 1) if of_user is None else of_user
        self._by_time = rounds == "time"
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._clock = clock
        self._users: dict[Hashable, _User] = {}
        self._lines: dict[Hashable, _User] = {}
        """The users who wait, the one served last at the end."""
        self._least = 0.0
        """What a user who comes now counts as having used."""
        self.running = self.waiting = self._released = 0
        self._took_s: deque[float] = deque(maxlen=OBSERVED)

    @asynccontextmanager
    async def turn(self, user: Hashable) -> AsyncIterator[Turn]:
        """Hold a place during the block. Raises Overloaded where none can be had in time.

        Cancelling the caller gives up the place, or its position in the line.
        """
        turn = await self.begin(user)
        try:
            yield turn
        finally:
            self._end(turn)

    async def begin(self, user: Hashable) -> Turn:
        """A turn that holds a place until it is ended. Raises Overloaded where none can be had in time."""
        turn = Turn(self, user)
        if not self._is_free_for(self._user(user)):
            self._make_room(user)
        await self._take(turn, timeout_s=self._timeout_s)
        return turn

    def _user(self, name: Hashable) -> _User:
        """What is known of a user. A new user, or one who returns after a pause, has used `_least` at least."""
        user = self._users.get(name)
        if user is None:
            if len(self._users) >= MAX_SHARES:
                self._users = {known: one for known, one in self._users.items() if one.running or one.line}
            user = self._users[name] = _User()
        if not user.running and not user.line:
            user.used = max(user.used, self._least)
        return user

    def _is_free_for(self, user: _User) -> bool:
        return self.running < self._places and user.running < self._of_user

    def _make_room(self, name: Hashable) -> None:
        """Raises Overloaded unless one more request of this user may wait.

        If `max_waiting` requests wait, the last one of the longest line gives way to a user with fewer waiting.
        """
        if self._timeout_s is not None and self._expected_wait_s(name) > self._timeout_s:
            raise self._refusal()
        if self.waiting + self._released < self._max_waiting:
            return
        longest = max((user.line for user in self._lines.values()), key=len, default=deque())
        if len(longest) <= len(self._users[name].line) + 1 or longest[-1]._started:
            raise self._refusal()
        last = longest[-1]
        self._leave(last)
        if last._granted is not None and not last._granted.done():
            last._granted.set_exception(self._refusal())

    def _expected_wait_s(self, name: Hashable) -> float:
        """How long a further request of this user would wait at least, by the lower quartile of the latest turns."""
        if not self._took_s:
            return 0.0
        own = len(self._users[name].line)
        others = sum(min(len(user.line), own + 1) for other, user in self._lines.items() if other != name)
        rounds = max((own + 1) / self._of_user, (own + others + 1) / self._places)
        return rounds * sorted(self._took_s)[len(self._took_s) // 4]

    def _refusal(self) -> errors.Overloaded:
        mean_s = statistics.fmean(self._took_s) if self._took_s else 0.0
        drained_s = math.ceil(self.waiting * mean_s / self._places)
        return errors.Overloaded(_REFUSED, retry_after_s=max(1, min(LONGEST_RETRY_S, drained_s)))

    async def _take(self, turn: Turn, *, timeout_s: float | None) -> None:
        """Take a free place or wait for one; a request that ran before waits at the front of its user's line."""
        user = self._user(turn.user)
        if self._is_free_for(user):
            self._start(turn, user)
            return
        granted = turn._granted = asyncio.get_running_loop().create_future()
        if turn._started:
            user.line.appendleft(turn)
        else:
            user.line.append(turn)
        self._lines.setdefault(turn.user, user)
        self.waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                await granted
        except BaseException as error:
            self._leave(turn)
            self._end(turn)
            if isinstance(error, TimeoutError):
                raise self._refusal() from None
            raise

    def _leave(self, turn: Turn) -> None:
        """Take a request out of its line, if it stands there."""
        user = self._lines.get(turn.user)
        if user is None or turn not in user.line:
            return
        user.line.remove(turn)
        self.waiting -= 1
        if not user.line:
            del self._lines[turn.user]

    def _start(self, turn: Turn, user: _User) -> None:
        now = self._clock()
        self._least = max(self._least, self._share(user, now))
        self.running += 1
        user.running += 1
        user.running_since += now
        if not self._by_time:
            user.used += 1
        turn._started = True
        turn._held_since = now

    def _end(self, turn: Turn) -> None:
        """Take the place from a request that holds one, and grant it to the next."""
        if turn._held_since is None:
            return
        user, took_s = self._users[turn.user], self._clock() - turn._held_since
        self._took_s.append(took_s)
        self.running -= 1
        user.running -= 1
        user.running_since -= turn._held_since
        if self._by_time:
            user.used += took_s
        turn._held_since = None
        self._grant()

    def _share(self, user: _User, now: float) -> float:
        """What a user has used, the requests that run included."""
        return user.used + (user.running * now - user.running_since if self._by_time else 0.0)

    def _grant(self) -> None:
        """Grant the free places, each to the first in the line of the user who has used least."""
        now = self._clock()
        while self.running < self._places:
            may = (name for name, user in self._lines.items() if user.running < self._of_user)
            name = min(may, key=lambda one: self._share(self._lines[one], now), default=None)
            if name is None:
                return
            turn, user = self._lines[name].line[0], self._lines.pop(name)
            self._lines[name] = user
            self._leave(turn)
            if turn._granted is not None and not turn._granted.done():
                self._start(turn, user)
                turn._granted.set_result(None)


UNLIMITED: Released = Turn(Limiter(1), None)
"""A turn that holds no place, and so has none to give back: for the command line and evaluations."""
