"""Counts requests, searches and writes, and serves the counts as Prometheus metrics.

Each application has a registry of its own. Labels hold route templates, methods, statuses and the codes of this
program, never a user's text or id. Pipelines do not depend on this module: an answer carries its timings and
codes; the endpoint stores it in the request's state, and it is counted after the response.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import __version__, errors, kinds
from app.http.authentication import auth
from app.http.bodies import bodies
from app.http.problems import problems
from app.kinds import BreakerState
from app.query.types import Answer

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
STAGE_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
RANK_BUCKETS = (0, 1, 2, 3, 5, 10, 20, 50)
BREAKER_STATES = kinds.values(BreakerState)
Read = Callable[[], Awaitable[str]]
"""Reads metrics in Prometheus text format. Raises OSError."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Stored(Protocol):
    """What is counted of a stored document."""

    @property
    def status(self) -> str: ...

    @property
    def chunk_count(self) -> int: ...

    @property
    def embedded(self) -> int: ...


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._longest_lag = 0.0
        self.requests = Counter(
            "stepwell_http_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self.duration = Histogram(
            "stepwell_http_request_duration_seconds",
            "Time to the end of a response.",
            ["method", "route"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.in_flight = Gauge("stepwell_http_requests_in_flight", "Requests being answered now.", registry=registry)
        self.stages = Histogram(
            "stepwell_search_stage_seconds",
            "Time of a search's stages: embed, recall, relax, total, …",
            ["stage"],
            buckets=STAGE_BUCKETS,
            registry=registry,
        )
        self.search_wait = Histogram(
            "stepwell_search_wait_seconds",
            "Time that a search waited for its turn.",
            buckets=STAGE_BUCKETS,
            registry=registry,
        )
        self.answers = Counter("stepwell_search_answers", "Answers.", ["found"], registry=registry)
        self.degraded = Counter(
            "stepwell_search_degraded", "Answers without a part that failed.", ["code"], registry=registry
        )
        self.relaxed = Counter("stepwell_search_relaxed", "Relaxed queries.", ["name"], registry=registry)
        self.modes = Counter(
            "stepwell_search_modes", "Answers by mode and fallback reason.", ["mode", "reason"], registry=registry
        )
        self.boosted = Counter("stepwell_search_boosted", "Answers with a boosted hit.", registry=registry)
        self.boost_places = Histogram(
            "stepwell_search_boost_places", "Ranks gained by a boosted hit.", buckets=RANK_BUCKETS, registry=registry
        )
        self.feedback = Counter(
            "stepwell_feedback", "Judgements of hits: true, false, withdrawn.", ["helpful"], registry=registry
        )
        self.documents = Counter("stepwell_ingest_documents", "Ingested documents.", ["status"], registry=registry)
        self.chunks = Counter("stepwell_ingest_chunks", "Chunks of documents.", ["status"], registry=registry)
        self.embedded = Counter("stepwell_ingest_embedded_chunks", "Chunks that the model embedded.", registry=registry)
        self.jobs = Counter("stepwell_jobs", "Background jobs that this process has run.", ["kind"], registry=registry)
        self.job_chunks = Counter(
            "stepwell_job_chunks", "Chunks that those jobs read or stored.", ["kind"], registry=registry
        )
        self.loop_lag = Histogram(
            "stepwell_event_loop_lag_seconds",
            "How late the event loop was, measured every 50 ms.",
            buckets=LAG_BUCKETS,
            registry=registry,
        )
        self.longest_loop_lag = Gauge(
            "stepwell_event_loop_lag_max_seconds", "The longest lag since the start.", registry=registry
        )
        Gauge("stepwell_build_info", "Always 1.", ["version"], registry=registry).labels(__version__).set(1)
        Gauge("stepwell_processes", "Processes that serve requests.", registry=registry).set(1)

    async def text(self) -> str:
        """All metrics of this process in Prometheus text format."""
        return generate_latest(self.registry).decode()

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at every scrape."""
        Gauge(name, meaning, registry=self.registry).set_function(read)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; status 0 means that the client disconnected before the response."""
        known = method if method in METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.duration.labels(known, route).observe(seconds)

    def answer(self, answer: Answer) -> None:
        """Count one search."""
        self.answers.labels("true" if answer.hits else "false").inc()
        for stage, milliseconds in answer.timings.items():
            self.stages.labels(stage).observe(milliseconds / 1000)
        for code in set(answer.degraded):
            self.degraded.labels(code).inc()
        for name in set(answer.relaxed):
            self.relaxed.labels(name).inc()
        self.modes.labels(answer.search_mode, answer.fallback_reason or "").inc()
        boosts = [hit.boost for hit in answer.hits if hit.boost]
        self.boosted.inc(bool(boosts))
        for boost in boosts:
            self.boost_places.observe(boost.moved)

    def judged(self, helpful: bool | None) -> None:
        """Count a judgement of a hit; None is one that was withdrawn."""
        self.feedback.labels("withdrawn" if helpful is None else str(helpful).lower()).inc()

    def ingested(self, stored: Iterable[Stored], refused: int) -> None:
        """Count the outcomes of uploads."""
        for document in stored:
            self.documents.labels(document.status).inc()
            self.chunks.labels(document.status).inc(document.chunk_count)
            self.embedded.inc(document.embedded)
        if refused:
            self.documents.labels("refused").inc(refused)

    def lagged(self, seconds: float) -> None:
        """Record by how much the event loop was late."""
        self.loop_lag.observe(seconds)
        if seconds > self._longest_lag:
            self._longest_lag = seconds
            self.longest_loop_lag.set(seconds)

    def job_done(self, kind: str, chunks: int) -> None:
        """Count a background job and the chunks that it read or stored."""
        self.jobs.labels(kind).inc()
        self.job_chunks.labels(kind).inc(chunks)


def install(app: FastAPI, *, access: str, totals: Read | None = None) -> None:
    """Count the application's requests, and serve the counts at /metrics: this process's, or `totals` if given.

    `access` is `keyed` (scope `metrics`; no key is needed with AUTH=none), `open` or `off`.
    """
    app.state.metrics = metrics = Metrics()
    app.state.read_metrics = totals or metrics.text
    app.add_middleware(Counting, metrics=metrics)
    metrics.watch(
        "stepwell_db_connections_in_use", "Database connections in use now.", partial(_read, app, _connections_in_use)
    )
    for kind, meaning in (("queries", "Queries being embedded now."), ("passages", "Passages waiting for the model.")):
        metrics.watch(f"stepwell_embedding_{kind}_in_flight", meaning, partial(_read, app, _embedding(kind)))
    metrics.registry.register(_RemoteModels(app))
    metrics.registry.register(_VectorCache(app))
    if access != "off":
        app.include_router(_router(keyed=access == "keyed"))


def _router(*, keyed: bool) -> APIRouter:
    router = APIRouter(
        tags=["health"], route_class=bodies.StrictRoute, dependencies=[Depends(auth.Scope("metrics"))] if keyed else []
    )
    router.add_api_route(
        "/metrics",
        _respond,
        operation_id="metrics",
        summary="Get metrics",
        response_class=Response,
        responses={
            200: {
                "description": "Prometheus text format.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            **problems.responses(422),
            **(problems.responses(401, 403, 429) if keyed else {}),
        },
    )
    return router


async def _respond(request: Request) -> Response:
    """All metrics in Prometheus text format; those of the service's processes are added."""
    read: Read = request.app.state.read_metrics
    try:
        text = await read()
    except OSError as error:
        raise errors.Unavailable("The processes' metrics cannot be read; try again shortly.") from error
    return Response(text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


def _read(app: FastAPI, read: Callable[[Any], float]) -> float:
    """A figure of the running services; 0 before they are opened."""
    services = getattr(app.state, "services", None)
    return 0.0 if services is None else read(services)


def _connections_in_use(services: Any) -> float:
    return float(services.db.in_use())


def _embedding(kind: str) -> Callable[[Any], float]:
    return lambda services: float(getattr(services.embedder, "in_flight", {}).get(kind, 0))


class _RemoteModels(Collector):
    """Reads the circuit breakers and the counts of calls of the running services' remote models."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """One gauge for each model, and one counter for each model and outcome."""
        labels = ["role", "provider", "model"]
        meaning = "Circuit breaker of a remote model: 0 closed, 1 half-open, 2 open."
        breakers = GaugeMetricFamily("stepwell_provider_breaker_state", meaning, labels=labels)
        meaning = "Attempts to call a remote model: answered, failed, rejected, not_called."
        attempts = CounterMetricFamily("stepwell_provider_attempts", meaning, labels=[*labels, "outcome"])
        for calls in getattr(getattr(self._app.state, "services", None), "remote_calls", ()):
            breakers.add_metric(list(calls.target), BREAKER_STATES.index(calls.breaker.state))
            for outcome, count in calls.outcomes.items():
                attempts.add_metric([*calls.target, outcome], count)
        yield breakers
        yield attempts


class _VectorCache(Collector):
    """Reads how often this process looked passages up in the cache of vectors."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """One counter for each outcome."""
        meaning = "Passages that were looked up in the cache of vectors: hit, miss."
        lookups = CounterMetricFamily("stepwell_embedding_cache_lookups", meaning, labels=["outcome"])
        if (services := getattr(self._app.state, "services", None)) is not None:
            lookups.add_metric(["hit"], services.cache.hits)
            lookups.add_metric(["miss"], services.cache.misses)
        yield lookups


class Counting:
    """Counts each request when its response has been sent, and what its endpoint stored in the request's state."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def send_and_record(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        with self.metrics.in_flight.track_inprogress():
            try:
                await self.app(scope, receive, send_and_record)
            finally:
                self._count(scope, status, time.perf_counter() - began)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.request(scope["method"], route_of(scope), status, seconds)
        state = scope.get("state", {})
        if (answer := state.get("answer")) is not None:
            self.metrics.answer(answer)
        if "feedback" in state:
            self.metrics.judged(state["feedback"])
        self.metrics.ingested(state.get("stored", ()), state.get("refused", 0))


def route_of(scope: Scope) -> str:
    """The template of the route that served the request, such as `/api/rag/documents/{document_id}`."""
    route = scope.get("route")
    return getattr(route, "path", None) or "unmatched"
