"""Starts the service as its users do, once: two processes on one embedded Postgres, with and without keys.

The cases know the command line and HTTP only, so that they stay as they are however the service is built.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import collector
import httpx
import psutil
import pytest
from over_http import API, PATIENCE_S, SAMPLES, Caller

ROOT = Path(__file__).parents[2]
NOTES = next(ROOT.glob("app/**/cliff-clarke.md")).parents[1]
GRACE_S = 25
ENOUGH_MEMORY = 4_000_000_000
KEYS = {
    "all": ["local"],
    "search": ["local", "--scope", "search"],
    "write": ["local", "--scope", "write"],
    "metrics": ["local", "--scope", "metrics"],
    "decisions": ["local", "--filters", '{"metadata": {"tags": "decision"}}'],
    "stranger": ["stranger"],
}
"""The arguments of `stepwell keys create` for each key; `local` is the user of a service without keys."""


@pytest.fixture(scope="package")
def folder() -> Iterator[Path]:
    """A folder for the database and for sources, in memory if there is room; other accounts may traverse it."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and psutil.disk_usage(str(memory)).free >= ENOUGH_MEMORY
    made = Path(tempfile.mkdtemp(prefix="stepwell-test-", dir=memory if has_room else None)).resolve()
    made.chmod(0o711)
    (made / "sources").mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="package")
def telemetry() -> Iterator[collector.Collector]:
    """A collector of OpenTelemetry, which fails at first."""
    with collector.running() as started:
        yield started


@pytest.fixture(scope="package")
def environment(folder: Path, telemetry: collector.Collector) -> dict[str, str]:
    """The environment of every process: the database and the settings of this suite, and none of the machine's."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    own.pop("DATABASE_URL", None)
    return own | {
        "STEPWELL_DATA_DIR": str(folder / "data"),
        "STEPWELL_SOURCE_ROOTS": str(folder / "sources"),
        "STEPWELL_TOOLS": "rate_passage,add_document,delete_document,add_source,sync_source",
        "STEPWELL_COMPAT": "chatgpt,dify",
        "STEPWELL_OCR": "off",
        "OTEL_EXPORTER_OTLP_ENDPOINT": telemetry.address,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "STEPWELL_LOG_LEVEL": "warning",
    }


class Process:
    """`stepwell serve` on a free port."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._reserved = socket.socket()
        """Keeps the port from others, and lets the service listen on it."""
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        port = self._reserved.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "app", "serve", "--port", str(port)]
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment)

    def await_readiness(self) -> None:
        """Returns once the service is ready."""
        deadline = time.monotonic() + PATIENCE_S
        with httpx.Client(base_url=self.address) as client:
            while not self._is_ready(client):
                assert time.monotonic() < deadline, "the service is not ready"
        self._reserved.close()

    def _is_ready(self, client: httpx.Client) -> bool:
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"The service did not start: {self._process.wait(timeout=0.05)}")
        try:
            return client.get("/readyz").status_code == 200
        except httpx.ConnectError:
            return False

    def terminate(self) -> None:
        """Asks the service to stop."""
        self._process.terminate()

    def await_end(self) -> None:
        """The service stops in order, within the time that its manifests give it."""
        assert self._process.wait(timeout=GRACE_S) == 0


@pytest.fixture(scope="package")
def addresses(environment: dict[str, str], telemetry: collector.Collector) -> Iterator[tuple[str, str]]:
    """The addresses of two services on one database: one without keys, which runs the jobs, and one that needs keys.

    The collector hangs while they stop.
    """
    with ExitStack() as stack:
        without_keys = Process(environment)
        stack.callback(without_keys.await_end)
        without_keys.await_readiness()
        keyed = Process(environment | {"AUTH": "api_key", "STEPWELL_WORKER": "false"})
        stack.callback(keyed.await_end)
        for process in (without_keys, keyed):
            stack.callback(process.terminate)
        _store_sample_notes(Caller(without_keys.address))
        keyed.await_readiness()
        stack.callback(telemetry.hang)
        yield without_keys.address, keyed.address


def _store_sample_notes(caller: Caller) -> None:
    notes = sorted(NOTES.rglob("*.md"))
    files = [("files", (SAMPLES + note.relative_to(NOTES).as_posix(), note.read_bytes())) for note in notes]
    with caller.http:
        assert caller.call("POST", f"{API}/documents", 201, files=files).json()["added"] == len(notes)
        caller.finish_jobs()


@pytest.fixture(scope="package")
def service(addresses: tuple[str, str]) -> Iterator[Caller]:
    """A caller of the service without keys, whose user `local` has the sample notes."""
    caller = Caller(addresses[0])
    with caller.http:
        yield caller


@pytest.fixture
def settled(service: Caller) -> Caller:
    """The same when no job is left that would change an answer between two requests."""
    service.finish_jobs()
    return service


@pytest.fixture(scope="package")
def keys(addresses: tuple[str, str], environment: dict[str, str]) -> dict[str, str]:
    """The keys of `KEYS` by their names, made with the command line."""
    command = [sys.executable, "-m", "app", "keys", "create"]
    making = {
        name: subprocess.Popen([*command, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        for name, arguments in KEYS.items()
    }
    made = {name: process.communicate(timeout=PATIENCE_S)[0].strip() for name, process in making.items()}
    assert all(process.returncode == 0 for process in making.values())
    return made


@pytest.fixture(scope="package")
def with_key(addresses: tuple[str, str], keys: dict[str, str]) -> Iterator[dict[str, Caller]]:
    """A caller of the service that needs keys for each key, by the key's name."""
    with ExitStack() as stack:
        callers = {name: Caller(addresses[1], key) for name, key in keys.items()}
        for caller in callers.values():
            stack.enter_context(caller.http)
        yield callers
