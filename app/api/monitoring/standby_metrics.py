"""Counts reads by the server that served them, and reports whether the standby is used and how far it is behind."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import FastAPI
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.api.monitoring.metrics import Metrics
from app.pipelines.maintenance.standby_checks import Standby
from app.pipelines.running.services import Services


def install(app: FastAPI) -> None:
    """Add the metrics. Call it after `metrics.install`."""
    metrics: Metrics = app.state.metrics
    metrics.registry.register(_Reads(app))


class _Reads(Collector):
    """Reads the counts and the standby of the running services."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """One counter by target and reason, a gauge of writability, and three gauges of the standby, if any."""
        services: Services | None = getattr(self._app.state, "services", None)
        meaning = "Read transactions by target (standby, primary) and reason (preferred, older, unavailable, …)."
        reads = CounterMetricFamily("stepwell_db_reads", meaning, labels=["target", "reason"])
        if services is not None:
            for key, count in services.db.targets.counts.items():
                reads.add_metric(list(key), count)
        yield reads
        writable = GaugeMetricFamily("stepwell_db_read_only", "1 if the database accepts no writes.")
        if services is not None:
            writable.add_metric([], float(services.db.pool.is_read_only))
        yield writable
        yield from _of_standby(None if services is None else services.standby)


def _of_standby(standby: Standby | None) -> Iterator[Metric]:
    """Gauges without a value where there is no standby, or its lag cannot be measured."""
    ready = GaugeMetricFamily("stepwell_standby_ready", "1 if reads go to the standby.")
    seconds = GaugeMetricFamily("stepwell_standby_lag_seconds", "How long the standby has been behind, at most.")
    size = GaugeMetricFamily("stepwell_standby_lag_bytes", "Bytes of the log that the standby has not replayed.")
    if standby is not None:
        ready.add_metric([], float(standby.state == "ready"))
        if standby.lag is not None:
            seconds.add_metric([], standby.lag.seconds)
            size.add_metric([], standby.lag.bytes)
    yield from (ready, seconds, size)
