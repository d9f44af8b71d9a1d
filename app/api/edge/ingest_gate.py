"""Limits how many uploads are read, chunked, embedded and stored at once, in total and per user.

An upload holds its turn from before its body is read until it is stored, so that the number of turns also bounds the
memory for bodies. The bodies of waiting uploads are not read.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app.api.edge.fair_queue import FairQueue
from app.api.monitoring.metrics import Metrics

RUNNING, RUNNING_OF_USER = 4, 2
WAITING, WAITING_OF_USER = 64, 32
WAIT_S = 10.0


def install(app: FastAPI, *, processes: int) -> None:
    """Create the application's ingest gate, for one of `processes`, and its gauges. Call it after `metrics.install`."""
    app.state.ingest_gate = gate = IngestGate(max(1, RUNNING // processes))
    metrics: Metrics = app.state.metrics
    metrics.watch("stepwell_uploads_running", "Uploads being read, embedded or stored now.", lambda: gate.running)
    metrics.watch("stepwell_uploads_waiting", "Uploads that wait for a turn now.", lambda: gate.waiting)


class IngestGate:
    """Runs `running` uploads at once, RUNNING_OF_USER of a user at most; the others wait up to WAIT_S for each turn."""

    def __init__(self, running: int = RUNNING) -> None:
        self._all = FairQueue(running, max_waiting=WAITING, timeout_s=WAIT_S)
        self._of_users: weakref.WeakValueDictionary[str, FairQueue] = weakref.WeakValueDictionary()

    @property
    def running(self) -> int:
        """Number of uploads that hold a turn now."""
        return self._all.running

    @property
    def waiting(self) -> int:
        """Number of uploads that wait for a turn now, for their user's or for one of all."""
        return self._all.waiting + sum(queue.waiting for queue in self._of_users.values())

    @asynccontextmanager
    async def turn(self, user_id: str) -> AsyncIterator[None]:
        """Hold a turn of the user and one of the total during the block. Raises Overloaded if there is none in time.

        An upload that waits for its user's turn is not in the common queue, so that many uploads of one user do not
        take the places of others.
        """
        of_user = self._of_users.get(user_id)
        if of_user is None:
            of_user = FairQueue(RUNNING_OF_USER, max_waiting=WAITING_OF_USER, timeout_s=WAIT_S)
            self._of_users[user_id] = of_user
        async with of_user.turn(user_id), self._all.turn(user_id):
            yield
