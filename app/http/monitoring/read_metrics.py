"""Counts reads by the server that served them, and reports whether the standby is used and how far it is behind."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import FastAPI
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.http.monitoring.metrics import Metrics
from app.services import Services

COUNTED = "Read transactions by target (standby, primary) and reason (preferred, older, unavailable, …)."
GAUGES = {
    "stepwell_db_read_only": "1 if the database accepts no writes.",
    "stepwell_standby_ready": "1 if reads go to the standby.",
    "stepwell_standby_lag_seconds": "How long the standby has been behind, at most.",
    "stepwell_standby_lag_bytes": "Bytes of the log that the standby has not replayed.",
}


def install(app: FastAPI) -> None:
    """Add the metrics. Call it after `metrics.install`."""
    metrics: Metrics = app.state.metrics
    metrics.registry.register(_Reads(app))


class _Reads(Collector):
    """Reads the counts and the standby of the running services."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """One counter by target and reason, and gauges, which have no value where there is nothing to measure."""
        services: Services | None = getattr(self._app.state, "services", None)
        reads = CounterMetricFamily("stepwell_db_reads", COUNTED, labels=["target", "reason"])
        for key, count in ({} if services is None else services.db.reads.counts).items():
            reads.add_metric(list(key), count)
        yield reads
        values = {} if services is None else _measure(services)
        for name, meaning in GAUGES.items():
            yield GaugeMetricFamily(name, meaning, value=values.get(name))


def _measure(services: Services) -> dict[str, float]:
    """The values of the gauges that have one."""
    found = {"stepwell_db_read_only": float(services.db.pool.is_read_only)}
    if (report := services.db.reads.standby) is not None:
        found["stepwell_standby_ready"] = float(report.state == "ready")
        if report.lag is not None:
            found["stepwell_standby_lag_seconds"] = report.lag.seconds
            found["stepwell_standby_lag_bytes"] = report.lag.bytes
    return found
