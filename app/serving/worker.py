"""Implements `stepwell worker`: runs background jobs in a process of their own."""

from __future__ import annotations

import asyncio
import logging
import signal

from app import runtime, telemetry
from app import settings as config
from app.cli import options
from app.jobs import kinds
from app.settings import Settings

log = logging.getLogger(__name__)


def worker(data_dir: options.DataDir = None) -> None:
    """Run background jobs until stopped; for services with STEPWELL_WORKER=false."""
    settings = config.load(data_dir=data_dir)
    telemetry.configure(settings.log_level, settings.log_json)
    telemetry.log_uncaught()
    options.run(_work(settings))


async def _work(settings: Settings) -> None:
    async with runtime.open_services(settings, runs_jobs=True) as services:
        log.info("worker started", extra={"action": "worker_started"})
        working = asyncio.ensure_future(kinds.run_forever(services))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
        await asyncio.gather(working, return_exceptions=True)
