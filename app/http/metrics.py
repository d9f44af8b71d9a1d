"""Counts requests, searches and writes, and serves the counts and figures of the services as Prometheus metrics.

Each application has a registry of its own. Labels hold route templates, methods, statuses and the codes of this
program, never a user's text or id. Pipelines do not depend on this module: an answer carries its timings and
codes; the endpoint stores it in the request's state, and it is counted after the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from starlette.types import Scope

from app import __version__, enums, errors
from app.database.pooled_connection import Durations
from app.database.pools import Lag
from app.enums import BreakerState
from app.http import auth, bodies, problems
from app.query.search_types import Answer
from app.services import Services

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
STAGE_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
LAG_INTERVAL_S = 0.05
LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
Read = Callable[[], Awaitable[str]]
"""Reads metrics in Prometheus text format. Raises OSError."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

BREAKER_STATES = enums.values(BreakerState)
_GAUGES: Mapping[str, tuple[str, Callable[[Services], float | None]]] = {
    "stepwell_db_connections_in_use": ("Database connections in use now.", lambda use: use.db.in_use()),
    "stepwell_db_connections_max": ("Database connections that this process may open.", lambda use: use.db.pool.size()),
    "stepwell_db_connections_waiting": (
        "Transactions that wait for a connection now.",
        lambda use: use.db.pool.durations.waiting,
    ),
    "stepwell_db_read_only": ("1 if the database accepts no writes.", lambda use: use.db.pool.is_read_only),
    "stepwell_standby_ready": (
        "1 if reads go to the standby.",
        lambda use: None if (report := use.db.reads.standby) is None else report.state == "ready",
    ),
    "stepwell_standby_lag_seconds": (
        "How long the standby has been behind, at most.",
        lambda use: None if (lag := _lag(use)) is None else lag.seconds,
    ),
}
"""Gauges of the services; one that is None has nothing to measure."""
_MODEL = ["role", "provider", "model"]


disable_created_metrics()  # type: ignore[no-untyped-call]  # a further series per metric, the time of its first use


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        stages, lag = partial(histogram, buckets=STAGE_BUCKETS), partial(histogram, buckets=LAG_BUCKETS)
        self.before_scrape: list[Callable[[], Awaitable[None]]] = []
        ProcessCollector(registry=registry)
        self._longest_lag = 0.0
        of_request = ["method", "route"]
        self.requests = counter("stepwell_http_requests", "Requests answered.", [*of_request, "status"])
        name, meaning = "stepwell_http_request_duration_seconds", "Time to the end of a response."
        self.duration = histogram(name, meaning, of_request, buckets=REQUEST_BUCKETS)
        self.problems = counter("stepwell_http_problems", "Errors answered, by their code.", ["status", "code"])
        self.in_flight = gauge("stepwell_http_requests_in_flight", "Requests being answered now.")
        meaning = "Time of searches: flat, guided by entities (two_pass), over several hops (multihop)."
        self.searches = stages("stepwell_search_duration_seconds", meaning, ["kind"])
        meaning = "Time of a search's stages: embed, recall, relax, …"
        self.stages = stages("stepwell_search_stage_seconds", meaning, ["stage"])
        self.search_wait = stages("stepwell_search_wait_seconds", "Time that a search waited for its turn.")
        self.answers = counter("stepwell_search_answers", "Answers.", ["found"])
        self.degraded = counter("stepwell_search_degraded", "Answers without a part that failed.", ["code"])
        self.documents = counter("stepwell_ingest_documents", "Ingested documents.", ["status"])
        meaning = "How late the event loop was, measured every 50 ms."
        self.loop_lag = lag("stepwell_event_loop_lag_seconds", meaning)
        self.longest_loop_lag = gauge("stepwell_event_loop_lag_max_seconds", "The longest lag since the start.")
        gauge("stepwell_build_info", "Always 1.", ["version"]).labels(__version__).set(1)
        gauge("stepwell_processes", "Processes that serve requests.").set(1)

    async def text(self) -> str:
        """All metrics of this process in Prometheus text format, once `before_scrape` has read what they show."""
        for read in self.before_scrape:
            await read()
        return generate_latest(self.registry).decode()

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at every scrape."""
        Gauge(name, meaning, registry=self.registry).set_function(read)

    def request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request, and what its endpoint left in its state; status 0: the client left before the response."""
        state = scope["state"]
        method = scope["method"] if scope["method"] in METHODS else "other"
        # The template of the route that served the request, such as `/api/rag/documents/{document_id}`.
        route = getattr(scope.get("route"), "path", None) or "unmatched"
        self.requests.labels(method, route, str(status)).inc()
        self.duration.labels(method, route).observe(seconds)
        if (code := state.get("problem")) is not None:
            self.problems.labels(str(status), code).inc()
        if (answer := state.get("answer")) is not None:
            self.answer(answer)
        for document in state.get("stored", ()):
            self.documents.labels(document.status).inc()
        if refused := state.get("refused", 0):
            self.documents.labels("refused").inc(refused)

    def answer(self, answer: Answer) -> None:
        """Count one search."""
        self.answers.labels("true" if answer.hits else "false").inc()
        self.searches.labels(answer.search_mode).observe(answer.took_ms / 1000)
        for stage, milliseconds in answer.timings.items():
            if stage != "total":
                self.stages.labels(stage).observe(milliseconds / 1000)
        for code in set(answer.degraded):
            self.degraded.labels(code).inc()

    def lagged(self, seconds: float) -> None:
        """Record by how much the event loop was late."""
        self.loop_lag.observe(seconds)
        if seconds > self._longest_lag:
            self._longest_lag = seconds
            self.longest_loop_lag.set(seconds)


def install(app: FastAPI, *, access: str, totals: Read | None = None) -> None:
    """Make the application's metrics, and serve them at /metrics: this process's, or `totals` if given.

    `access` is `keyed` (scope `metrics`; no key is needed with AUTH=none), `open` or `off`.
    """
    app.state.metrics = metrics = Metrics()
    app.state.read_metrics = totals or metrics.text
    metrics.registry.register(_ServiceFigures(app))
    if access == "off":
        return
    keyed = access == "keyed"
    scope = [Depends(auth.Scope("metrics"))] if keyed else []
    text = {"description": "Prometheus text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    router = APIRouter(tags=["health"], route_class=bodies.StrictRoute, dependencies=scope)
    router.add_api_route(
        "/metrics",
        _respond,
        operation_id="metrics",
        summary="Get metrics",
        response_class=Response,
        responses={200: text, **problems.responses(422, *((401, 403, 429) if keyed else ()))},
    )
    app.include_router(router)


async def _respond(request: Request) -> Response:
    """All metrics in Prometheus text format, added up over the processes of the service."""
    read: Read = request.app.state.read_metrics
    try:
        text = await read()
    except OSError as error:
        raise errors.Unavailable("The processes' metrics cannot be read; try again shortly.") from error
    return Response(text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


async def monitor_lag(observe: Callable[[float], None]) -> None:
    """Sleep again and again, and report by how many seconds each sleep was too long.

    A stall that begins during a sleep is reported by up to LAG_INTERVAL_S less than it lasts. Runs until it is
    cancelled.
    """
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_INTERVAL_S
        await asyncio.sleep(LAG_INTERVAL_S)
        observe(max(0.0, loop.time() - due))


class _ServiceFigures(Collector):
    """Reads the figures of the application's services; there is none before they are opened."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """The gauges and the counters."""
        services: Services | None = getattr(self._app.state, "services", None)
        for name, (meaning, read) in _GAUGES.items():
            yield GaugeMetricFamily(name, meaning, value=None if services is None else read(services))
        yield from _counts(services)
        yield from _durations(services)


def _lag(services: Services) -> Lag | None:
    report = services.db.reads.standby
    return None if report is None else report.lag


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
