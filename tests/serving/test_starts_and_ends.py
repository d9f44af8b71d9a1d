"""Tests how the processes of the service begin and end."""

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import harness
import pytest
import server_folders

from app import main, runtime
from app.access.key_uses import KeyUses
from app.database.embedded import embedded_files, postgres
from app.jobs import workers
from app.serving import commands, http_process, supervisor
from app.settings import Settings

ROOT = Path(__file__).parents[2]
COMMANDS = {"ingest": ("ingest", "README.md"), "serve": ("serve", "--port", "0"), "worker": ("worker",)}


async def test_services_are_closed_where_ctrl_c_interrupts_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    states, begun = [], asyncio.Event()

    @asynccontextmanager
    async def open_services(*_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
        states.append("opened")
        try:
            yield SimpleNamespace(local_token="")
        finally:
            await asyncio.sleep(0)
            states.append("closed")

    async def warm_up(*_: object, **__: object) -> None:
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(runtime, "open_services", open_services)
    monkeypatch.setattr(http_process, "prepare", warm_up)
    starting = asyncio.create_task(http_process._alone(Settings()))
    await begun.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert states == ["opened", "closed"]


@pytest.mark.parametrize(
    ("command", "sent"), [("ingest", signal.SIGTERM), ("serve", signal.SIGINT), ("worker", signal.SIGTERM)]
)
def test_a_signal_ends_a_command_that_downloads_a_model(data_dir: Path, command: str, sent: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hub:
        hub.settimeout(60)
        variables = {
            "STEPWELL_RERANKER": "hub",
            "STEPWELL_RERANKER_MODEL": "BAAI/bge-reranker-base",
            "STEPWELL_MODEL_HUB": f"http://127.0.0.1:{hub.getsockname()[1]}",
            "STEPWELL_DATA_DIR": str(data_dir),
        }
        arguments = [sys.executable, "-m", "app", *COMMANDS[command]]
        environment = os.environ | variables
        with subprocess.Popen(arguments, cwd=ROOT, env=environment, preexec_fn=harness.heed_ctrl_c) as run:
            try:
                with hub.accept()[0]:  # it gets no answer
                    run.send_signal(sent)
                    assert run.wait(30) == 130
            finally:
                run.kill()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_first_start_leaves_no_postgres(sent: int) -> None:
    with server_folders.temporary() as folder:
        environment = os.environ | {"STEPWELL_DATA_DIR": str(folder / "data"), "STEPWELL_PORT": "0"}
        layout = embedded_files.Layout(folder / "data", postgres.SOCKET_ROOT)
        arguments = [sys.executable, "-m", "app", "serve"]
        with subprocess.Popen(arguments, cwd=ROOT, env=environment, preexec_fn=_heed_hangup) as run:
            try:
                while not layout.socket.exists():
                    assert run.poll() is None
                    time.sleep(0.01)
                run.send_signal(sent)
                assert run.wait(60) == 130
                assert not layout.pid_file.exists()
            finally:
                run.kill()


def _heed_hangup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it


class _Process:
    """A process that serves until it gets a signal."""

    pid = 1

    def __init__(self, link: int) -> None:
        self._link = socket.socket(fileno=os.dup(link))
        self._link.send(b"1")
        self._ended = asyncio.Event()

    def send_signal(self, _signal: int) -> None:
        self._link.close()
        self._ended.set()

    async def wait(self) -> int:
        await self._ended.wait()
        return 0


async def test_processes_serve_on_while_another_one_cannot_be_started(monkeypatch, tmp_path: Path) -> None:
    failures, started = [None, OSError(errno.EAGAIN, "no process is left"), None], asyncio.Queue[_Process]()

    async def create(*_arguments: str, pass_fds: list[int], **_options: object) -> _Process:
        if (failure := failures.pop(0)) is not None:
            raise failure
        started.put_nowait(process := _Process(*pass_fds))
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", create)
    monkeypatch.setattr(supervisor, "PAUSE_S", 0.01)
    processes = supervisor.Supervisor(2, {}, str(tmp_path))
    running = asyncio.create_task(processes.run())
    async with asyncio.timeout(10):
        for _ in range(2):
            await started.get()
        processes.stop()
        await running


async def test_a_worker_whose_work_fails_ends_with_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def open_services(*_: object, **__: object) -> AsyncIterator[None]:
        yield

    async def fail(_services: object) -> None:
        raise RuntimeError("no such function")

    monkeypatch.setattr(runtime, "open_services", open_services)
    monkeypatch.setattr(workers, "run_forever", fail)
    with pytest.raises(RuntimeError):
        await commands._work(Settings())


async def test_work_in_the_background_that_fails_is_logged_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_services: object) -> None:
        raise RuntimeError("no such function")

    async def idle() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(workers, "run_forever", fail)
    state = SimpleNamespace(metrics=SimpleNamespace(lagged=print), key_uses=KeyUses(), settings=Settings())
    services = SimpleNamespace(db=SimpleNamespace(reads=SimpleNamespace(watch=idle)))
    async with main._background_workers(SimpleNamespace(state=state), services):
        for _ in range(3):  # it runs, fails, and is seen
            await asyncio.sleep(0)
        assert [one.message for one in caplog.records] == ["background work ended"]
    assert len(caplog.records) == 1, "to be cancelled at the end is no failure"
