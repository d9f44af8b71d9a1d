"""Starts the processes that serve one port, replaces those that end, and stops them together.

The supervisor reserves the port and keeps the embedded Postgres running; it answers no requests. Only the first process
runs background work. A process that ends is replaced; if it ran for less than STEADY_S, after a pause of PAUSE_S. The
supervisor gives up if a process cannot start and no other process serves.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import tempfile
import time
from contextlib import AsyncExitStack, suppress

import typer

from app import settings as config
from app.database.embedded import postgres
from app.runtime import local_token
from app.serving import listening
from app.settings import Settings

log = logging.getLogger(__name__)

STEADY_S, PAUSE_S = 30.0, 2.0
CLOSING_S = 5.0
"""Seconds after GRACE_S until a process that does not end is killed."""


class _StartFailed(Exception):
    """No process of the service can start. The argument is the exit status of the last one."""


class Supervisor:
    """Keeps `count` processes of the service running, which read their settings from `environment`."""

    def __init__(self, count: int, environment: dict[str, str], folder: str) -> None:
        self._count = count
        self._environment = environment
        self._folder = folder
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._serving: set[int] = set()
        self._has_served = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Let running requests finish, and end."""
        self._stopping.set()

    async def run(self) -> None:
        """Run the processes until `stop`. Raises _StartFailed."""
        stopping = asyncio.create_task(self._stopping.wait())
        keepers = {asyncio.create_task(self._keep(1))}
        served = asyncio.create_task(self._has_served.wait())
        try:
            await asyncio.wait({stopping, served, *keepers}, return_when=asyncio.FIRST_COMPLETED)
            if served.done():
                keepers |= {asyncio.create_task(self._keep(number)) for number in range(2, self._count + 1)}
            await asyncio.wait({stopping, *keepers}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            served.cancel()
            await self._stop_all(keepers)
        await asyncio.gather(*keepers)

    async def _stop_all(self, keepers: set[asyncio.Task[None]]) -> None:
        for how, within_s in ((signal.SIGTERM, listening.GRACE_S + CLOSING_S), (signal.SIGKILL, CLOSING_S)):
            for process in self._processes.values():
                with suppress(ProcessLookupError):
                    process.send_signal(how)
            _done, running = await asyncio.wait(keepers, timeout=within_s)
            if not running:
                return

    async def _keep(self, number: int) -> None:
        """Run a process and replace it whenever it ends, until the supervisor stops. Raises _StartFailed."""
        while not self._stopping.is_set():
            began = time.monotonic()
            status, has_served = await self._run_process(number)
            if self._stopping.is_set():
                return
            log.warning("process %d ended", number, extra={"action": "process_ended", "status": status})
            if not has_served and not self._serving:
                raise _StartFailed(status)
            if time.monotonic() - began < STEADY_S:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), PAUSE_S)

    async def _run_process(self, number: int) -> tuple[int, bool]:
        """Start a process and wait for its end; returns its exit status, and whether it has served.

        The status is 1 if no process can be started, for lack of memory for example. The process sends a byte when it
        serves, and ends when this end of the link is closed.
        """
        link, its_link = socket.socketpair()
        arguments = ("--number", str(number), "--link", str(its_link.fileno()), "--folder", self._folder)
        with its_link:
            # A group of its own: Ctrl-C in a terminal signals the supervisor only, which then stops all processes.
            # -P: the folder in which the service was started may have an `app` of its own.
            try:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "app", "serve-process", *arguments),
                    env=self._environment,
                    pass_fds=[its_link.fileno()],
                    process_group=0,
                    stdin=asyncio.subprocess.DEVNULL,
                )
            except OSError as error:
                link.close()
                log.error("process %d: %s", number, error.strerror, extra={"action": "process_not_started"})
                return 1, False
        self._processes[number] = process
        if self._stopping.is_set():
            process.terminate()
        reader, writer = await asyncio.open_unix_connection(sock=link)
        if has_served := bool(await reader.read(1)):
            log.info("process %d serves", number, extra={"action": "process_serves", "pid": process.pid})
            self._serving.add(number)
            self._has_served.set()
        status = await process.wait()
        writer.close()
        self._serving.discard(number)
        del self._processes[number]
        return status, has_served


async def run(settings: Settings) -> None:
    """Serve with several processes until SIGTERM or SIGINT. Raises StepwellError, and typer.Exit if none can start."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="stepwell-"))
        if settings.database_url is None:
            await stack.enter_async_context(postgres.EmbeddedPostgres(settings.folder))
        # Bound but not listening, these sockets keep the port while processes are replaced.
        for reserved in listening.bind(settings):
            stack.enter_context(reserved)
        token = local_token.load(settings.folder) if settings.auth == "local_token" else ""
        listening.announce(settings, token=token)
        supervisor = Supervisor(settings.workers, _environment(settings), folder)
        received: list[signal.Signals] = []

        def stop(received_signal: signal.Signals) -> None:
            received.append(received_signal)
            supervisor.stop()

        for one in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(one, stop, one)
        try:
            await supervisor.run()
        except _StartFailed as failed:
            # The process has printed or logged the reason.
            log.critical("no process could start", extra={"action": "start_failed", "status": failed.args[0]})
            raise typer.Exit(max(1, failed.args[0])) from failed
    if signal.SIGINT in received:
        raise typer.Exit(130)


def _environment(settings: Settings) -> dict[str, str]:
    """The environment of the processes, with the options of the command as variables."""
    chosen = {"HOST": settings.host, "PORT": str(settings.port), "WORKERS": str(settings.workers)}
    if settings.data_dir is not None:
        chosen["DATA_DIR"] = str(settings.data_dir)
    return config.environment() | {f"STEPWELL_{name}": value for name, value in chosen.items()}
