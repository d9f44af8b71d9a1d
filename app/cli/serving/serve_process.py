"""Implements `stepwell serve-process`: runs one of the processes that `stepwell serve --workers` starts."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from app import config, telemetry
from app.cli import options
from app.cli.serving import serve, serving
from app.cli.serving.serving import SupervisorLink
from app.errors import StepwellError


def serve_process(
    number: Annotated[int, typer.Option(help="Number of the process; the first one runs background work.", min=1)],
    metrics_fd: Annotated[int, typer.Option(help="Socket on which the process answers with its metrics.")],
    totals_fd: Annotated[int, typer.Option(help="Socket on which it asks for the metrics of all processes.")],
) -> None:
    """Run one of the processes of `stepwell serve --workers`, which starts it."""
    settings = config.load().of_process(number)
    options.err.quiet = telemetry.writes_json(settings.log_json)
    serve.configure_logs(settings)
    link = SupervisorLink(socket.socket(fileno=metrics_fd), socket.socket(fileno=totals_fd))
    try:
        serving.run_process(settings, number, link)
    except StepwellError as error:
        serve.refuse_start(error)
