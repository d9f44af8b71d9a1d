"""Serves HTTP in this process: the whole service, or one of the processes that share its port."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import signal
import socket
from contextlib import AsyncExitStack, suppress

import uvicorn

from app import runtime
from app.cli import options
from app.http import connections
from app.main import create_app
from app.search import search
from app.services import Services
from app.serving import listening
from app.serving.shared_metrics import SharedMetrics
from app.settings import Settings

ALLOCATIONS = 10_000
"""Python looks for cycles among new objects once so many more objects were made than freed."""


def run(settings: Settings) -> None:
    """Serve until a signal arrives. Raises what opening the services raises."""
    options.run(_alone(settings), loop=_LOOP)


def run_process(settings: Settings, number: int, link: socket.socket, shared: SharedMetrics) -> None:
    """Serve as one of several processes until a signal arrives or the supervisor ends; the first is number 1."""
    options.run(_one_of_several(settings, number, link, shared), loop=_LOOP)


# uvloop where it is available: it handles a burst of requests in two thirds of the time (docs/faults.md).
_LOOP = uvicorn.Config("", loop="auto", log_config=None).get_loop_factory()


async def _alone(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(runtime.open_services(settings, runs_jobs=True))
        listening.announce(settings, token=services.local_token)
        app = create_app(settings, opened=(services, stack))
        await prepare(settings, services)
        await _serve(_server(app, settings))


async def _one_of_several(settings: Settings, number: int, link: socket.socket, shared: SharedMetrics) -> None:
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(runtime.open_services(settings, runs_jobs=True))
        if number > 1:
            services = dataclasses.replace(services, owner=None)  # which background work alone uses
        app = create_app(settings, opened=(services, stack), totals=shared.total)
        server = _server(app, settings)
        await prepare(settings, services)
        sockets = listening.bind(settings)
        reader, writer = await asyncio.open_unix_connection(sock=link)
        writer.write(b"1")

        async def stop_with_supervisor() -> None:
            with suppress(OSError):  # the supervisor ended before this process served
                await reader.read()
            server.should_exit = True

        stopping = asyncio.create_task(stop_with_supervisor())
        async with shared.shown(app.state.metrics.text):
            await _serve(server, sockets)
        stopping.cancel()
        writer.close()


def _server(app: object, settings: Settings) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,  # type: ignore[arg-type]
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            http=connections.Protocol,
            ws="none",
            forwarded_allow_ips="*",  # it gives nothing but the scheme and the client's address, which is not read
            timeout_graceful_shutdown=listening.GRACE_S,
            timeout_keep_alive=int(connections.Protocol.limits.idle_s),
        )
    )


async def prepare(settings: Settings, services: Services) -> None:
    """Do once what the first searches would wait for, and let Python look for garbage less often."""
    await search.warm_up(services, concurrent=settings.searches_at_once)
    # What is loaded now lives as long as the process: scanning it for garbage would pause searches for 50 ms at a time.
    gc.collect()
    gc.freeze()
    # Requests leave few cycles: looking for them as often as Python does takes a fifteenth of a search's time.
    gc.set_threshold(ALLOCATIONS, 10, 10)


async def _serve(server: uvicorn.Server, sockets: list[socket.socket] | None = None) -> None:
    # uvicorn finishes what is running and raises the signal again, which would end the process with a failure's status.
    previous = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        await server.serve(sockets)
    finally:
        signal.signal(signal.SIGTERM, previous)
