"""Starts the processes that serve one port, replaces those that end, and stops them together.

The supervisor reserves the port, keeps the embedded Postgres running and adds up the metrics; it answers no request.
The first process alone runs background work. A process that ends is replaced: at once if it served for STEADY_S or is
the first to end, otherwise after a pause that doubles with each end in a row. The supervisor gives up where a process
cannot start before any has served, and where none serves and one has failed to start MAX_FAILED_STARTS times in a row.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import time
from contextlib import AsyncExitStack, suppress

import typer

from app import config
from app.api.monitoring import metric_sums
from app.cli.serving import listening, process_channel
from app.config import Settings
from app.pipelines.maintenance import local_token
from app.store.embedded import postgres

log = logging.getLogger(__name__)

STEADY_S = 30.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
MAX_FAILED_STARTS = 5
CLOSING_S = 5.0
"""Seconds beyond GRACE_S after which a process that does not end is killed."""


class _StartFailed(Exception):
    """No process of the service can be started; the argument is the exit status of the last one."""


class _Process:
    """A process of the service, which answers with its metrics once it serves."""

    def __init__(self, running: asyncio.subprocess.Process, metrics_end: socket.socket) -> None:
        self.running = running
        self.is_serving = False
        self.last_metrics = ""
        self._metrics = process_channel.Asker(metrics_end)
        self._started_at = time.monotonic()

    @property
    def is_steady(self) -> bool:
        """Whether it has served and ran for STEADY_S."""
        return self.is_serving and time.monotonic() - self._started_at >= STEADY_S

    async def serves(self) -> bool:
        """Wait until the process serves; false where it ends instead."""
        while not self.is_serving and self.running.returncode is None:
            try:
                self.last_metrics = await self._metrics.ask()
                self.is_serving = True
            except TimeoutError:  # which is an OSError
                continue
            except OSError:
                return False
        return self.is_serving

    async def read_metrics(self) -> None:
        """Read its metrics, and keep the earlier ones where that fails."""
        with suppress(OSError):
            self.last_metrics = await self._metrics.ask()

    def send(self, what: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            self.running.send_signal(what)

    def close(self) -> None:
        """Close the channel to it."""
        self._metrics.close()


class Supervisor:
    """Keeps `count` processes of the service running, which read their settings from `environment`."""

    def __init__(self, count: int, environment: dict[str, str]) -> None:
        self._count = count
        self._environment = environment
        self._processes: dict[int, _Process] = {}
        self._ended_metrics = ""
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
                process.send(how)
            _done, running = await asyncio.wait(keepers, timeout=within_s)
            if not running:
                return

    async def _keep(self, number: int) -> None:
        """Run a process, and another one whenever it ends, until the supervisor stops. Raises _StartFailed."""
        early_ends = failed_starts = 0
        while not self._stopping.is_set():
            process = await self._run_process(number)
            if self._stopping.is_set():
                return
            early_ends = 0 if process.is_steady else early_ends + 1
            failed_starts = 0 if process.is_serving else failed_starts + 1
            pause_s = min(FIRST_PAUSE_S * 2 ** (early_ends - 2), LONGEST_PAUSE_S) if early_ends > 1 else 0.0
            fields = {"pid": process.running.pid, "status": process.running.returncode, "pause_s": pause_s}
            log.warning("process %d ended", number, extra={"action": "process_ended", **fields})
            if not self._may_recover(failed_starts):
                raise _StartFailed(process.running.returncode)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)

    def _may_recover(self, failed_starts: int) -> bool:
        if not self._has_served.is_set():
            return False
        return failed_starts < MAX_FAILED_STARTS or any(one.is_serving for one in self._processes.values())

    async def _run_process(self, number: int) -> _Process:
        """Start a process and wait for its end."""
        metrics_end, its_metrics_end = socket.socketpair()
        totals_end, its_totals_end = socket.socketpair()
        passed = [its_metrics_end.fileno(), its_totals_end.fileno()]
        arguments = ["--number", str(number), "--metrics-fd", str(passed[0]), "--totals-fd", str(passed[1])]
        with its_metrics_end, its_totals_end:
            # A group of its own: Ctrl-C in a terminal signals the supervisor only, which then stops all processes.
            running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app", "serve-process", *arguments),
                env=self._environment,
                pass_fds=passed,
                process_group=0,
                stdin=asyncio.subprocess.DEVNULL,
            )
        self._processes[number] = process = _Process(running, metrics_end)
        if self._stopping.is_set():
            process.send(signal.SIGTERM)
        async with process_channel.answering(totals_end, self._totals):
            if await process.serves():
                log.info("process %d serves", number, extra={"action": "process_serves", "pid": running.pid})
                self._has_served.set()
            await running.wait()
        del self._processes[number]
        process.close()
        self._ended_metrics = metric_sums.added((), ended=(self._ended_metrics, process.last_metrics))
        return process

    async def _totals(self) -> str:
        """The metrics of all processes, with the counts of those that have ended as they were last read."""
        serving = [one for one in self._processes.values() if one.is_serving]
        await asyncio.gather(*(one.read_metrics() for one in serving))
        return metric_sums.added([one.last_metrics for one in serving], ended=(self._ended_metrics,))


async def run(settings: Settings) -> None:
    """Serve with several processes until SIGTERM or SIGINT. Raises StepwellError, and typer.Exit where none starts."""
    async with AsyncExitStack() as stack:
        if settings.database_url is None:
            await stack.enter_async_context(postgres.EmbeddedPostgres(listening.data_dir(settings)))
        # Bound but not listening, these sockets keep the port while processes are replaced.
        reserved = [stack.enter_context(one) for one in listening.bind(settings)]
        settings = settings.model_copy(update={"port": reserved[0].getsockname()[1]})
        folder = listening.data_dir(settings)
        listening.announce(settings, token=local_token.load(folder) if settings.auth == "local_token" else "")
        supervisor = Supervisor(settings.workers, _environment(settings))
        received: list[signal.Signals] = []

        def stop(received_signal: signal.Signals) -> None:
            received.append(received_signal)
            supervisor.stop()

        for one in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(one, stop, one)
        try:
            await supervisor.run()
        except _StartFailed as failed:
            raise _refused(failed.args[0]) from failed
    if signal.SIGINT in received:
        raise typer.Exit(130)


def _environment(settings: Settings) -> dict[str, str]:
    """The environment of the processes, with the options of the command as variables."""
    chosen = {"HOST": settings.host, "PORT": str(settings.port), "WORKERS": str(settings.workers)}
    if settings.data_dir is not None:
        chosen["DATA_DIR"] = str(settings.data_dir)
    return config.environment() | {f"STEPWELL_{name}": value for name, value in chosen.items()}


def _refused(status: int) -> typer.Exit:
    """The exit of the command after a process that could not start, which has printed or logged the reason."""
    log.critical("no process of the service could start", extra={"action": "start_failed", "status": status})
    return typer.Exit(status if status > 0 else 1)
