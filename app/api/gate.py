"""Which searches have their turn, which wait for it, and which would wait too long?

A free turn is always taken. Where none is free, a search may wait if it is likely to be answered within `patience`
times the 95th percentile of what its kind takes when it runs alone: whatever the machine, those who are admitted are
not much later than on a quiet day, and the others hear at once. A turn is taken in rounds: a caller's first search goes
before another caller's second, so that nobody who asks for much keeps out somebody who asks for little. The rule is
CoDel's (Nichols and Jacobson 2012: bound the time in the queue, not its length), told beforehand where it can be.
"""

from __future__ import annotations

import asyncio
import bisect
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

REMEMBERED = 64
"""Durations by which a kind of search is judged."""
ENOUGH = 8
"""Durations below which nothing is known; then as many may wait as run."""


class Pace:
    """How long one kind of search takes, in seconds: alone, and beside others."""

    def __init__(self) -> None:
        self._alone: deque[float] = deque(maxlen=REMEMBERED)
        self._beside: deque[float] = deque(maxlen=REMEMBERED)
        self._usual = self._longest = 0.0

    @property
    def known(self) -> bool:
        """Whether enough of them ran alone."""
        return len(self._alone) >= ENOUGH

    @property
    def longest(self) -> float:
        """The 95th percentile of those that ran alone."""
        return self._longest

    def learn(self, took: float, *, alone: bool) -> None:
        """Remember one."""
        (self._alone if alone else self._beside).append(took)
        if alone and self.known:
            self._longest = statistics.quantiles(self._alone, n=20)[-1]
            self._usual = statistics.median(self._alone)

    def beside(self, others: int) -> float:
        """What one takes beside so many others: as measured, else as if they shared everything."""
        measured = len(self._beside) >= ENOUGH
        return statistics.median(self._beside) if measured else self._usual * (1 + others)


@dataclass(eq=False, slots=True)
class Place:
    """One search between the door and its end. `turn` tells True when it may run, False when it may not any more."""

    kind: str
    caller: Hashable
    rank: tuple[int, int]
    came: float
    turn: asyncio.Future[bool]
    began: float | None = None
    alone: bool = False


@dataclass(slots=True)
class Gate:
    """Lets `running` searches through at once and at most `waiting` more queue for their turn. `clock` in seconds."""

    most_running: int
    most_waiting: int
    patience: float = 3.0
    clock: Callable[[], float] = time.perf_counter
    _running: set[Place] = field(default_factory=set)
    _queue: list[Place] = field(default_factory=list)
    _present: Counter[Hashable] = field(default_factory=Counter)
    _paces: dict[str, Pace] = field(default_factory=dict)
    _came: int = 0

    @property
    def running(self) -> int:
        """Searches that hold a turn now."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Searches that wait for a turn now."""
        return len(self._queue)

    def enter(self, kind: str, caller: Hashable = None) -> Place | None:
        """A place for one more search, or None where it would wait too long.

        Somebody who stands behind it and would now wait too long is turned away instead: its `turn` is False.
        """
        for one in self._running:
            one.alone = False
        self._came += 1
        rank = (self._present[caller], self._came)
        place = Place(kind, caller, rank, self.clock(), asyncio.get_running_loop().create_future())
        if len(self._running) < self.most_running:
            self._present[caller] += 1
            self._let_in(place)
            return place
        if not self._bears(bisect.bisect(self._queue, rank, key=_rank), place):
            return None
        self._present[caller] += 1
        bisect.insort(self._queue, place, key=_rank)
        while self._queue and not self._bears(len(self._queue) - 1, self._queue[-1]):
            self._turn_away(self._queue.pop())
        return place

    def leave(self, place: Place, *, served: bool = False) -> None:
        """Give up the turn, or the place in the queue; a second time does nothing.

        `served` says that the search ran to its end, so that its duration tells something about others.
        """
        if place in self._running:
            self._running.remove(place)
            self._forget(place)
            if served and place.began is not None:
                self._pace(place.kind).learn(self.clock() - place.began, alone=place.alone)
            self._next()
        elif place in self._queue:
            self._queue.remove(place)
            self._forget(place)

    def _next(self) -> None:
        """Give a free turn to the first who has not waited too long."""
        while self._queue and len(self._running) < self.most_running:
            place = self._queue.pop(0)
            if self._late(place, 0.0):
                self._turn_away(place)
            else:
                self._let_in(place)

    def _bears(self, ahead: int, place: Place) -> bool:
        """Whether a search behind so many others in the queue is likely to be answered in time."""
        if ahead >= self.most_waiting:
            return False
        pace = self._pace(place.kind)
        if not pace.known:
            return ahead < self.most_running
        turns = [self._takes(one.kind, or_else=place.kind) for one in (*self._running, *self._queue[:ahead])]
        # All of them beside each other free `most_running` turns in the mean time of one.
        return not self._late(place, sum(turns) / len(turns) * (ahead + 1) / self.most_running)

    def _late(self, place: Place, wait: float) -> bool:
        """Whether it would have taken too long after so many more seconds of waiting."""
        pace = self._pace(place.kind)
        needs = self.clock() - place.came + wait + self._takes(place.kind, or_else=place.kind)
        return pace.known and needs > self.patience * pace.longest

    def _takes(self, kind: str, *, or_else: str) -> float:
        pace = self._pace(kind)
        return (pace if pace.known else self._pace(or_else)).beside(self.most_running - 1)

    def _pace(self, kind: str) -> Pace:
        if kind not in self._paces:
            self._paces[kind] = Pace()
        return self._paces[kind]

    def _let_in(self, place: Place) -> None:
        place.alone, place.began = not self._running, self.clock()
        self._running.add(place)
        place.turn.set_result(True)

    def _turn_away(self, place: Place) -> None:
        self._forget(place)
        place.turn.set_result(False)

    def _forget(self, place: Place) -> None:
        self._present[place.caller] -= 1
        if not self._present[place.caller]:
            del self._present[place.caller]


def _rank(place: Place) -> tuple[int, int]:
    return place.rank
