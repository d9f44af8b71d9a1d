"""Adds the queue of jobs, and the outcomes of the jobs that this process has run, to the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fastapi import FastAPI
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import errors
from app.database.pooled_connection import Rows
from app.http.metrics import Metrics
from app.jobs import store as jobs
from app.jobs.workers import Outcomes
from app.services import Services
from app.settings import Settings

GAUGES = {
    "waiting": ("stepwell_jobs_waiting", "Jobs that wait, those for a later time included."),
    "running": ("stepwell_jobs_running", "Jobs that run."),
    "retrying": ("stepwell_jobs_retrying", "Jobs that wait or run and have failed since their last progress."),
    "oldest_s": ("stepwell_jobs_oldest_seconds", "For how long the job that has waited longest could have run."),
}


def install(app: FastAPI, _settings: Settings) -> None:
    """Add the metrics."""
    metrics: Metrics = app.state.metrics
    figures = _JobFigures(app)
    metrics.registry.register(figures)
    metrics.before_scrape.append(figures.read)


class _JobFigures(Collector):
    """The queue as it was at this scrape, and the outcomes of the jobs that this process has run."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._queue = Rows()
        self._outcomes = Outcomes()

    async def read(self) -> None:
        """Read the queue; nothing is shown of it while the database cannot be reached."""
        services: Services = self._app.state.services
        self._outcomes, self._queue = services.state(Outcomes), Rows()
        with suppress(errors.StepwellError):
            self._queue = await jobs.count_queue(services.db)

    def collect(self) -> Iterator[Metric]:
        """The gauges of the queue and the counters."""
        for column, (name, meaning) in GAUGES.items():
            gauge = GaugeMetricFamily(name, meaning, labels=["kind"])
            for row in self._queue:
                gauge.add_metric([row.kind], row[column])
            yield gauge
        for counter in (self._outcomes.done, self._outcomes.chunks, self._outcomes.failures):
            yield from counter.collect()
