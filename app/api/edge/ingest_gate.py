"""Limits how many bodies are received, and how many uploads are read, chunked, embedded and stored, at once.

An upload takes a turn once its body has been received, so that a slow sender holds none. Bodies over 1 MB are on disk
until then; their number is limited too, in total and per user.
"""

from __future__ import annotations

from fastapi import FastAPI

from app.api.edge.fair_queue import FairQueue
from app.api.monitoring.metrics import Metrics

RUNNING, RUNNING_OF_USER = 4, 2
"""Uploads that run at once. Several processes share them, but each runs two, of which a user holds one."""
BODIES, BODIES_OF_USER = 64, 16
"""Requests with a body, other than searches, that a process receives and answers at once."""
FETCHES, FETCHES_OF_USER = 4, 2
"""Pages that are fetched at once; each is held in memory until it is stored."""
WAITING = 128
WAIT_S = 10.0


def install(app: FastAPI, *, processes: int) -> None:
    """Create the limits of an application, one of `processes`, and their gauges. Call it after `metrics.install`."""
    app.state.bodies = FairQueue(BODIES, of_user=BODIES_OF_USER, max_waiting=WAITING, timeout_s=WAIT_S)
    app.state.fetches = FairQueue(FETCHES, of_user=FETCHES_OF_USER, max_waiting=WAITING, timeout_s=WAIT_S)
    app.state.ingest_gate = gate = uploads(processes)
    metrics: Metrics = app.state.metrics
    metrics.watch("stepwell_uploads_running", "Uploads being read, embedded or stored now.", lambda: gate.running)
    metrics.watch("stepwell_uploads_waiting", "Uploads that wait for a turn now.", lambda: gate.waiting)


def uploads(processes: int) -> FairQueue:
    """The turns of uploads in one of `processes`; a user never holds all of them."""
    running = max(2, RUNNING // processes)
    of_user = min(RUNNING_OF_USER, running - 1)
    return FairQueue(running, of_user=of_user, max_waiting=WAITING, timeout_s=WAIT_S)
