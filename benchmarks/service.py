"""Runs `stepwell` commands and `stepwell serve` in processes of their own, from this checkout or another one."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import psutil

from app import errors
from app import settings as config

ROOT = Path(__file__).parents[1]
START_S = 240.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: a data dir, settings as environment variables, the checkout that the code comes from, and the
    interpreter that has its dependencies.

    Settings of the surrounding process are not inherited.
    """

    data_dir: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    checkout: Path = ROOT
    python: str = sys.executable

    def environment(self) -> dict[str, str]:
        """Returns the environment of the process."""
        settings = ("STEPWELL_", "DATABASE_", "AUTH", "GEMINI_")
        inherited = {name: value for name, value in config.environment().items() if not name.startswith(settings)}
        own = {"PYTHONPATH": str(self.checkout), "STEPWELL_DATA_DIR": str(self.data_dir), "STEPWELL_LOG_LEVEL": "error"}
        return {**inherited, **own, **self.settings}

    async def start(self, *arguments: str, stdout: int = asyncio.subprocess.DEVNULL) -> asyncio.subprocess.Process:
        """Starts `stepwell` with these arguments; the caller ends the process."""
        return await asyncio.create_subprocess_exec(
            *(self.python, "-m", "app", *arguments),
            cwd=self.checkout,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def printed(self, file: Path, order: Path) -> Any:
        """Runs a file of this folder as the checkout has it: it reads an order, and uses the code of the checkout.

        Returns the JSON of the last line that it prints. Raises StepwellError.
        """
        process = await asyncio.create_subprocess_exec(
            *(self.python, str(self.checkout / file.relative_to(ROOT)), str(order)),
            cwd=self.checkout,
            env=self.environment(),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        if process.returncode:
            raise errors.StepwellError(f"{file.name} failed with the code of {self.checkout}.")
        return json.loads(out.splitlines()[-1])

    async def run(self, *arguments: str, timeout_s: float = 120.0) -> tuple[int, str]:
        """Runs a command to its end; returns its exit status and standard output."""
        process = await self.start(*arguments, stdout=asyncio.subprocess.PIPE)
        try:
            out, _ = await asyncio.wait_for(process.communicate(), timeout_s)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out.decode()


@dataclass(frozen=True, slots=True)
class Service:
    """A running `stepwell serve`."""

    process: asyncio.subprocess.Process
    port: int

    @property
    def address(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    async def ready(self, timeout_s: float = START_S, *, processes: int = 1) -> None:
        """Waits until /readyz answers 200 and so many processes listen. Raises EmbeddedServerError after the time."""
        deadline = time.monotonic() + timeout_s
        async with httpx.AsyncClient(base_url=self.address, trust_env=False, timeout=5.0) as client:
            while self.process.returncode is None and time.monotonic() < deadline:
                try:
                    if (await client.get("/readyz")).status_code == HTTPStatus.OK and self.listening() >= processes:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(POLL_S)
        raise errors.EmbeddedServerError("The service did not start.")

    def listening(self) -> int:
        """Returns how many processes listen on the port."""
        sockets = (found for one in self.processes() for found in one.net_connections("tcp"))
        return sum(one.status == psutil.CONN_LISTEN and one.laddr.port == self.port for one in sockets)

    def processes(self) -> list[psutil.Process]:
        """Returns the process, or the supervisor and the processes that serve; not Postgres and parsers."""
        first = psutil.Process(self.process.pid)
        return [first, *(child for child in first.children() if "serve-process" in child.cmdline())]

    def memory_mb(self) -> float:
        """Returns the resident set size in megabytes, of all processes together."""
        return sum(float(one.memory_info().rss) for one in self.processes()) / 2**20

    def cpu_s(self) -> float:
        """Returns the CPU time used so far, in seconds."""
        return sum(float(sum(one.cpu_times()[:2])) for one in self.processes())

    def loop_cpu_s(self) -> float:
        """Returns the part of the CPU time that the first thread of each process has used: the event loops."""
        threads = (thread for one in self.processes() for thread in one.threads() if thread.id == one.pid)
        return sum(float(thread.user_time + thread.system_time) for thread in threads)

    async def stop(self, how: signal.Signals = signal.SIGTERM, *, timeout_s: float = 60.0) -> float:
        """Sends a signal and waits for the end; returns the seconds it took. Kills the process at the timeout."""
        start = time.monotonic()
        if self.process.returncode is None:
            self.process.send_signal(how)
            try:
                await asyncio.wait_for(self.process.wait(), timeout_s)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        return time.monotonic() - start


@asynccontextmanager
async def serving(launch: Launch, *, port: int | None = None) -> AsyncIterator[Service]:
    """Starts `stepwell serve`, waits until it is ready and stops it afterwards. Raises EmbeddedServerError."""
    chosen = port or free_port()
    service = Service(await launch.start("serve", "--port", str(chosen)), chosen)
    try:
        await service.ready(processes=int(launch.settings.get("STEPWELL_WORKERS", 1)))
        yield service
    finally:
        await service.stop()


def free_port() -> int:
    """Returns a port that no process listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
