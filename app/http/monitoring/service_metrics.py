"""Reads figures of the running services at each scrape: the database, its standby, remote models and the embedder."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import FastAPI
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from app import kinds
from app.database.connections import Durations
from app.http.monitoring.metrics import Metrics
from app.kinds import BreakerState
from app.services import Services

BREAKER_STATES = kinds.values(BreakerState)
GAUGES = {
    "stepwell_db_connections_in_use": "Database connections in use now.",
    "stepwell_db_connections_max": "Database connections that this process may open.",
    "stepwell_db_connections_waiting": "Transactions that wait for a connection now.",
    "stepwell_db_read_only": "1 if the database accepts no writes.",
    "stepwell_standby_ready": "1 if reads go to the standby.",
    "stepwell_standby_lag_seconds": "How long the standby has been behind, at most.",
    "stepwell_standby_lag_bytes": "Bytes of the log that the standby has not replayed.",
    "stepwell_embedding_queries_in_flight": "Queries being embedded now.",
    "stepwell_embedding_passages_in_flight": "Passages waiting for the model.",
}
_MODEL = ["role", "provider", "model"]


def install(app: FastAPI) -> None:
    """Add the metrics. Call it after `metrics.install`."""
    metrics: Metrics = app.state.metrics
    metrics.registry.register(_ServiceFigures(app))


class _ServiceFigures(Collector):
    """Reads the figures of the application's services; there is none before they are opened."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """The gauges, of which those without a value have nothing to measure, and the counters."""
        services: Services | None = getattr(self._app.state, "services", None)
        values = {} if services is None else _measure(services)
        for name, meaning in GAUGES.items():
            yield GaugeMetricFamily(name, meaning, value=values.get(name))
        yield from _counts(services)
        yield from _durations(services)


def _measure(services: Services) -> dict[str, float]:
    """The values of the gauges that have one."""
    found = {
        "stepwell_db_connections_in_use": float(services.db.in_use()),
        "stepwell_db_connections_max": float(services.db.pool.size()),
        "stepwell_db_connections_waiting": float(services.db.pool.durations.waiting),
        "stepwell_db_read_only": float(services.db.pool.is_read_only),
    }
    for kind in ("queries", "passages"):
        found[f"stepwell_embedding_{kind}_in_flight"] = float(getattr(services.embedder, "in_flight", {}).get(kind, 0))
    if (report := services.db.reads.standby) is not None:
        found["stepwell_standby_ready"] = float(report.state == "ready")
        if report.lag is not None:
            found["stepwell_standby_lag_seconds"] = report.lag.seconds
            found["stepwell_standby_lag_bytes"] = report.lag.bytes
    return found


def _counts(services: Services | None) -> Iterator[Metric]:
    """Reads by server, and the calls and breakers of remote models."""
    meaning = "Read transactions by target (standby, primary) and reason (preferred, older, unavailable, …)."
    reads = CounterMetricFamily("stepwell_db_reads", meaning, labels=["target", "reason"])
    meaning = "Circuit breaker of a remote model: 0 closed, 1 half-open, 2 open."
    breakers = GaugeMetricFamily("stepwell_provider_breaker_state", meaning, labels=_MODEL)
    meaning = "Attempts to call a remote model: answered, failed, rejected, not_called."
    attempts = CounterMetricFamily("stepwell_provider_attempts", meaning, labels=[*_MODEL, "outcome"])
    if services is not None:
        for key, count in services.db.reads.counts.items():
            reads.add_metric(list(key), count)
        for calls in services.remote_calls:
            breakers.add_metric(list(calls.target), BREAKER_STATES.index(calls.breaker.state))
            for outcome, count in calls.outcomes.items():
                attempts.add_metric([*calls.target, outcome], count)
    yield from (reads, breakers, attempts)


def _durations(services: Services | None) -> Iterator[Metric]:
    """The waits for a connection, and the statements by name."""
    found = Durations() if services is None else services.db.pool.durations
    waits = SummaryMetricFamily(
        "stepwell_db_connection_wait_seconds", "Time that transactions waited for a connection."
    )
    waits.add_metric([], found.waits.count, found.waits.seconds)
    meaning = "Time of statements by the name of their file; `other` stand in a module."
    statements = SummaryMetricFamily("stepwell_db_statement_seconds", meaning, labels=["statement"])
    for name, total in sorted(found.statements.items()):
        statements.add_metric([name], total.count, total.seconds)
    yield from (waits, statements)
