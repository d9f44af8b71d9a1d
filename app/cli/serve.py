"""Implements `stepwell serve`: runs the service until a signal stops it."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
from contextlib import AsyncExitStack
from typing import Annotated

import typer
import uvicorn

from app import config, errors, runtime, telemetry
from app.api import connections
from app.cli import options
from app.config import Settings
from app.errors import StepwellError
from app.main import create_app
from app.pipelines import local_token, warmup
from app.pipelines.services import Services

log = logging.getLogger(__name__)

GRACE_S = 12
"""Seconds that running requests have to finish after SIGTERM; closing takes up to 3 s more."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000", min=0, max=65535)] = None,
    data_dir: options.DataDir = None,
) -> None:
    """Run the service until it is stopped; the playground is at /, Swagger UI at /docs."""
    settings = config.load(data_dir=data_dir, host=host, port=port)
    telemetry.configure(settings.log_level, settings.log_json)
    telemetry.log_uncaught()
    options.err.quiet = telemetry.writes_json(settings.log_json)
    for warning in config.unknown_variables():
        log.warning("%s", warning, extra={"action": "unknown_variable"})
    try:
        check_port(settings)
        # uvloop where it is available: it handles a burst of requests in two thirds of the time (docs/faults.md).
        options.run(_serve(settings), loop=uvicorn.Config("", loop="auto", log_config=None).get_loop_factory())
    except StepwellError as error:
        if not options.err.quiet:
            raise
        log.critical("the service did not start", extra={"code": error.code, "reason": error.message})
        raise typer.Exit(options.status(error)) from error


def check_port(settings: Settings) -> None:
    """Raises Conflict where another process listens on the port, BadRequest where the host or port cannot be used."""
    host, port = settings.host, settings.port
    try:
        for family, kind, protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise errors.Conflict(
                f"Port {port} of {host} is in use: stop what listens there, or choose another port with --port "
                "or STEPWELL_PORT."
            ) from error
        # A host may have addresses that this machine lacks, such as ::1 without IPv6: the server decides on those.
        if error.errno == errno.EACCES or isinstance(error, socket.gaierror):
            raise errors.BadRequest(f"The service cannot listen on {host}:{port}: {error.strerror}.") from error


async def _serve(settings: Settings) -> None:
    stack = AsyncExitStack()
    services = await stack.enter_async_context(runtime.open_services(settings, names_later=True))
    await listen(settings, services, stack)


async def listen(settings: Settings, services: Services, stack: AsyncExitStack) -> None:
    """Serves with open services; `stack` is closed when the server stops."""
    _announce(settings, services)
    limits = connections.ConnectionLimits(connections=settings.max_connections)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings, opened=(services, stack)),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            http=connections.limited(limits),
            ws="none",
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=int(limits.idle_s),
        )
    )
    await warmup.run(services, concurrent=settings.searches_at_once)
    # What is loaded now lives as long as the process: scanning it for garbage would pause searches for 50 ms at a time.
    gc.collect()
    gc.freeze()
    # uvicorn finishes what is running and raises the signal again, which would end the process with a failure's status.
    previous = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        await server.serve()
    finally:
        signal.signal(signal.SIGTERM, previous)
        await asyncio.shield(stack.aclose())


def _announce(settings: Settings, services: Services) -> None:
    address = f"http://{settings.host}:{settings.port}"
    if telemetry.writes_json(settings.log_json):
        # Logs are kept and passed on: they name the token's file, not the token.
        token = {"token_file": str(runtime.data_dir(settings) / local_token.FILE_NAME)} if services.local_token else {}
        log.info("starting", extra={"action": "starting", "address": address, **token})
        return
    options.err.print(f"Stepwell listens on {address} (playground at /, Swagger UI at /docs). Ctrl-C stops it.")
    if services.local_token:
        options.err.print(f"Requests need the header Authorization: Bearer {services.local_token}", soft_wrap=True)
