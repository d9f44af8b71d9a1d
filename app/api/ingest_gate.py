"""Limits how many uploads are read, cut, embedded and stored at once, in all and for each user.

An upload holds its turn from before its body is read until it is stored, so that the number of turns also bounds the
bytes of bodies in memory. Those that wait have sent nothing but what the socket buffers hold.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.api.fair_queue import FairQueue

RUNNING, RUNNING_OF_USER = 4, 2
WAITING, WAITING_OF_USER = 64, 32
WAIT_S = 10.0


class IngestGate:
    """At most RUNNING uploads at once, of one user RUNNING_OF_USER; the others wait up to WAIT_S for each turn."""

    def __init__(self) -> None:
        self._all = FairQueue(RUNNING, max_waiting=WAITING, timeout_s=WAIT_S)
        self._of_users: weakref.WeakValueDictionary[str, FairQueue] = weakref.WeakValueDictionary()

    @property
    def running(self) -> int:
        """Uploads that hold a turn now."""
        return self._all.running

    @asynccontextmanager
    async def turn(self, user_id: str) -> AsyncIterator[None]:
        """Hold a turn of the user's and one of all during the block. Raises Overloaded where none can be had in time.

        Who waits for the user's own turn does not stand in the line of all, so that many uploads of one user do not
        count against the others.
        """
        of_user = self._of_users.get(user_id)
        if of_user is None:
            of_user = FairQueue(RUNNING_OF_USER, max_waiting=WAITING_OF_USER, timeout_s=WAIT_S)
            self._of_users[user_id] = of_user
        async with of_user.turn(user_id), self._all.turn(user_id):
            yield
