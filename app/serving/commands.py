"""Implements `serve`, `serve-process` and `worker`: runs the service, one of its processes, or its background jobs."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from pathlib import Path
from typing import Annotated

import typer

from app import logging_setup
from app import settings as config
from app.cli import options, terminal
from app.errors import StepwellError
from app.serving import listening
from app.settings import Settings

log = logging.getLogger(__name__)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000", min=0, max=65535)] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes that serve the port.", show_default="1", min=1, max=20)
    ] = None,
    data_dir: options.DataDir = None,
) -> None:
    """Run the service until it is stopped; the playground is at /, Swagger UI at /docs."""
    settings = config.load(data_dir=data_dir, host=host, port=port, workers=workers)
    _configure_logs(settings)
    _warn_of_unknown()
    if (unused := settings.unused_llm_key()) is not None:
        log.info("%s. %s", *unused, extra={"action": "unused_llm_key"})
    try:
        listening.check_port(settings)
        settings = listening.choose_port(settings)
        # Imported here: the supervisor of several processes needs neither the web framework nor the model's runtime.
        if settings.workers > 1:
            from app.serving import supervisor

            options.run(supervisor.run(settings))
        else:
            from app.serving import http_process

            http_process.run(settings)
    except StepwellError as error:
        _refuse_start(error)


def serve_process(
    number: Annotated[int, typer.Option(help="Number of the process; the first one runs background work.", min=1)],
    link: Annotated[int, typer.Option(help="Socket to the supervisor, which closes it when it ends.")],
    folder: Annotated[Path, typer.Option(help="Folder in which the processes read each other's metrics.")],
) -> None:
    """Run one of the processes of `stepwell serve --workers`, which starts it."""
    from app.serving import http_process
    from app.serving.shared_metrics import SharedMetrics

    settings = config.load().of_process(number)
    _configure_logs(settings)
    try:
        http_process.run_process(settings, number, socket.socket(fileno=link), SharedMetrics(folder, number))
    except StepwellError as error:
        _refuse_start(error)


def worker(data_dir: options.DataDir = None) -> None:
    """Run background jobs until stopped; for services with STEPWELL_WORKER=false."""
    settings = config.load(data_dir=data_dir)
    logging_setup.configure(settings.log_level, settings.log_json)
    logging_setup.log_uncaught()
    _warn_of_unknown()
    options.run(_work(settings))


async def _work(settings: Settings) -> None:
    from app import runtime
    from app.jobs import workers

    async with runtime.open_services(settings, runs_jobs=True) as services:
        log.info("worker started", extra={"action": "worker_started"})
        working = asyncio.ensure_future(workers.run_forever(services))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
        (failure,) = await asyncio.gather(working, return_exceptions=True)
        if isinstance(failure, Exception):
            raise failure


def _warn_of_unknown() -> None:
    for warning in config.unknown_variables():
        log.warning("%s", warning, extra={"action": "unknown_variable"})


def _configure_logs(settings: Settings) -> None:
    """Log as the settings say, uncaught exceptions and warnings included."""
    terminal.err.quiet = logging_setup.writes_json(settings.log_json)
    logging_setup.configure(settings.log_level, settings.log_json)
    logging_setup.log_uncaught()


def _refuse_start(error: StepwellError) -> None:
    """End the command with the status of the error. It is logged, or raised for the caller to print."""
    if not terminal.err.quiet:
        raise error
    reason = f"{error.message} ({error.field})" if error.field else error.message
    log.critical("the service did not start", extra={"code": error.code, "reason": reason})
    raise typer.Exit(options.status(error)) from error
