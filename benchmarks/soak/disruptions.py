"""Kills, freezes and restarts the service and its embedded Postgres."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import psutil

from benchmarks.service import Launch, Service, free_port

Kind = Literal["kill Postgres", "freeze Postgres", "kill the service", "restart the service"]
ALL: tuple[Kind, ...] = ("kill the service", "kill Postgres", "restart the service", "freeze Postgres")
DATABASE_ONLY: tuple[Kind, ...] = ("kill Postgres", "freeze Postgres")
READY_S = 90.0


@dataclass(slots=True)
class Runner:
    """The service under test; a new process after each restart, on the same port."""

    launch: Launch
    service: Service
    restarts: int = 0
    slowest_stop_s: float = 0.0

    @classmethod
    async def started(cls, launch: Launch) -> Runner:
        """Starts the service. Raises EmbeddedServerError if it does not become ready."""
        port = free_port()
        runner = cls(launch, Service(await launch.start("serve", "--port", str(port)), port))
        try:
            await runner.service.ready(READY_S)
        except BaseException:
            await runner.service.stop()
            raise
        return runner

    async def restart(self, how: signal.Signals) -> None:
        """Ends the process by a signal and starts another one."""
        took = await self.service.stop(how)
        if how == signal.SIGTERM:
            self.slowest_stop_s = max(self.slowest_stop_s, took)
        port = self.service.port
        self.service = Service(await self.launch.start("serve", "--port", str(port)), port)
        self.restarts += 1
        await self.service.ready(READY_S)

    async def disrupt(self, kind: Kind, rng: Random) -> None:
        """Causes one disruption and returns when the service is ready again."""
        if kind == "kill Postgres":
            _signal_postgres(self.launch.data_dir, signal.SIGKILL)
        elif kind == "freeze Postgres":
            with frozen(self.launch.data_dir):
                await asyncio.sleep(rng.uniform(2.0, 6.0))
        else:
            await self.restart(signal.SIGKILL if kind == "kill the service" else signal.SIGTERM)
        await self.service.ready(READY_S)


@contextmanager
def frozen(data_dir: Path) -> Iterator[None]:
    """Suspends all processes of the embedded server until the block ends."""
    processes = _processes(data_dir)
    try:
        for process in processes:
            with suppress(psutil.Error):
                process.suspend()
        yield
    finally:
        for process in processes:
            with suppress(psutil.Error):
                process.resume()


def postmaster(data_dir: Path) -> psutil.Process | None:
    """Returns the embedded server's main process, if it runs."""
    for path in data_dir.rglob("postmaster.pid"):
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            return psutil.Process(int(path.read_text().splitlines()[0]))
    return None


def _processes(data_dir: Path) -> list[psutil.Process]:
    main = postmaster(data_dir)
    if main is None:
        return []
    with suppress(psutil.Error):
        return [main, *main.children(recursive=True)]
    return [main]


def _signal_postgres(data_dir: Path, how: signal.Signals) -> None:
    main = postmaster(data_dir)
    if main is not None:
        with suppress(psutil.Error):
            main.send_signal(how)
