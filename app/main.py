"""Creates the FastAPI application: routers, middleware, background workers and lifespan.

Nothing is opened at import: the lifespan opens the database and the providers, unless the caller has opened them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from app import __version__, capability, capability_registry, logging_setup, runtime
from app import settings as config
from app.access import key_uses
from app.concurrency.limiter import Limiter
from app.http import admission, auth, bodies, health, metrics, openapi_document, origins, problems, request_log
from app.jobs import workers as jobs
from app.services import Services
from app.settings import Settings
from app.web import pages

log = logging.getLogger(__name__)

MAX_WAITING_SEARCHES = 512
"""Searches that wait in all processes; others get 503."""
QUEUE_SHARE = 0.5
"""Share of the deadline of a search for which it may wait."""
DESCRIPTION = """
Hybrid search over your documents: by vectors and by BM25, fused in one SQL statement.

Every operation has an example that can be sent unchanged; that of a page needs its host in `STEPWELL_FETCH_HOSTS`.
A read that sends the `X-Stepwell-Version` of an earlier response is not answered from a standby that is older.
"""
_HEALTH = {"health": "Monitor the service."}


def create_app(
    settings: Settings | None = None,
    *,
    opened: tuple[Services, AsyncExitStack] | None = None,
    totals: metrics.Read | None = None,
) -> FastAPI:
    """The application.

    `opened` contains services that are already open and the stack that closes them; by default they are opened when
    the application starts. In both cases they are closed when it stops. `totals` reads the metrics of all processes
    where there are several.
    """
    capability_registry.register()
    chosen = settings or config.load()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        logging_setup.configure(chosen.log_level, chosen.log_json)
        if opened:
            services, stack = opened
        else:
            stack = AsyncExitStack()
            services = await stack.enter_async_context(runtime.open_services(chosen, runs_jobs=True))
        app.state.services = services
        _prepare(app)
        async with stack, _background_workers(app, services):
            yield

    app = FastAPI(
        title="Stepwell",
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=[{"name": name, "description": text} for name, text in {**capability.tags(), **_HEALTH}.items()],
        servers=[{"url": ".", "description": "The service that serves this document."}],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=problems.EVERY_REQUEST,
        lifespan=lifespan,
        # Exceptions are not copied into OpenTelemetry's logs: their messages may quote a user.
        telemetry={"logs": False, "auto_configure": config.exports_traces()},
        generate_unique_id_function=lambda route: route.operation_id or route.name,
    )
    app.state.settings = chosen
    app.state.key_uses = key_uses.KeyUses()
    app.state.key_lookups = auth.KeyLookups()
    app.state.readiness = health.ReadinessCheck()
    bodies.install(app)
    for router in (*capability.declared("routers"), health.router):
        app.include_router(router)
    for installed in (pages, problems, openapi_document):
        installed.install(app)
    metrics.install(app, access=chosen.metrics, totals=totals)
    admission.install(app, _searches(chosen), processes=chosen.workers, rate_limit_user=chosen.rate_limit_user)
    for install in capability.declared("installs"):
        install(app, chosen)
    origins.install(app, hosts=chosen.hosts, allowed=chosen.allowed_origins)
    request_log.install(app)
    return app


def _prepare(app: FastAPI) -> None:
    """Import and build what the first requests need. It takes 150 ms, which would delay other requests."""
    capability.declared("steps")
    unknown = {"type": "http", "method": "GET", "path": "/unknown path", "root_path": "", "headers": []}
    for route in app.router.routes:
        route.matches(dict(unknown))


@asynccontextmanager
async def _background_workers(app: FastAPI, services: Services) -> AsyncIterator[None]:
    """Run the jobs, unless another process does, watch the servers that are read, measure lag, store key uses."""
    workers = [
        asyncio.create_task(metrics.monitor_lag(app.state.metrics.lagged)),
        asyncio.create_task(key_uses.flush_forever(app.state.key_uses, db=services.db)),
        asyncio.create_task(services.db.reads.watch()),
    ]
    if app.state.settings.worker:
        workers.append(asyncio.create_task(jobs.run_forever(services)))
    for worker in workers:
        worker.add_done_callback(_log_failure)
    try:
        yield
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _log_failure(worker: asyncio.Task[None]) -> None:
    """Say that work in the background has ended, when it does: none is meant to end by itself."""
    if not worker.cancelled() and (error := worker.exception()) is not None:
        log.critical("background work ended", extra={"action": "background_ended"}, exc_info=error)


def _searches(settings: Settings) -> Limiter:
    waiting, timeout_s = -(-MAX_WAITING_SEARCHES // settings.workers), QUEUE_SHARE * settings.search_timeout_s
    return Limiter(settings.searches_at_once, max_waiting=waiting, timeout_s=timeout_s)
