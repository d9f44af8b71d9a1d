"""Adds to the metrics what jobs wait, run and have failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields

from fastapi import FastAPI
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import errors
from app.http.monitoring.metrics import Metrics
from app.jobs.store import queue
from app.jobs.store.queue import QueueLength
from app.jobs.types import Outcomes
from app.services import Services
from app.settings import Settings

GAUGES = {
    "waiting": ("stepwell_jobs_waiting", "Jobs that wait, those for a later time included."),
    "running": ("stepwell_jobs_running", "Jobs that run."),
    "retrying": ("stepwell_jobs_retrying", "Jobs that wait or run and have failed since their last progress."),
    "age_s": ("stepwell_jobs_oldest_seconds", "For how long the job that has waited longest could have run."),
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
        self._queue: list[QueueLength] = []

    @property
    def _services(self) -> Services | None:
        services: Services | None = getattr(self._app.state, "services", None)
        return services

    async def read(self) -> None:
        """Read the queue; nothing is shown of it while the database cannot be reached."""
        self._queue = []
        if self._services is not None:
            with suppress(errors.StepwellError):
                self._queue = await queue.read(self._services.db)

    def collect(self) -> Iterator[Metric]:
        """The gauges of the queue and the counters."""
        for field in fields(QueueLength)[1:]:
            gauge = GaugeMetricFamily(*GAUGES[field.name], labels=["kind"])
            for length in self._queue:
                gauge.add_metric([length.kind], getattr(length, field.name))
            yield gauge
        outcomes = Outcomes() if self._services is None else self._services.state(Outcomes)
        yield _count("stepwell_jobs", "Background jobs that this process has run.", outcomes.done)
        yield _count("stepwell_job_chunks", "Chunks that those jobs read or stored.", outcomes.chunks)
        failures = CounterMetricFamily(
            "stepwell_job_failures", "Attempts at jobs that failed in this process.", labels=["kind", "code"]
        )
        for key, count in outcomes.failures.items():
            failures.add_metric(list(key), count)
        yield failures


def _count(name: str, meaning: str, counts: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=["kind"])
    for kind, count in counts.items():
        family.add_metric([kind], count)
    return family
