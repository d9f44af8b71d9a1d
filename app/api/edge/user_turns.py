"""Limits concurrent work in total and per user."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.api.edge.fair_queue import FairQueue

WAITING, WAITING_OF_USER = 64, 32


class UserTurns:
    """At most `running` turns at a time, `of_user` of a user; the others wait up to `timeout_s` seconds for each."""

    def __init__(self, running: int, *, of_user: int, timeout_s: float) -> None:
        self._all = FairQueue(running, max_waiting=WAITING, timeout_s=timeout_s)
        self._of_users: weakref.WeakValueDictionary[str, FairQueue] = weakref.WeakValueDictionary()
        self._of_user = of_user
        self._timeout_s = timeout_s

    @property
    def running(self) -> int:
        """Number of requests that hold a turn now."""
        return self._all.running

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a turn now, for their user's or for one of all."""
        return self._all.waiting + sum(queue.waiting for queue in self._of_users.values())

    @asynccontextmanager
    async def turn(self, user_id: str) -> AsyncIterator[None]:
        """Hold a turn of the user and one of the total during the block. Raises Overloaded if there is none in time.

        A request that waits for its user's turn is not in the common queue, so that many requests of one user do not
        take the places of others.
        """
        of_user = self._of_users.get(user_id)
        if of_user is None:
            of_user = FairQueue(self._of_user, max_waiting=WAITING_OF_USER, timeout_s=self._timeout_s)
            self._of_users[user_id] = of_user
        async with of_user.turn(user_id), self._all.turn(user_id):
            yield
