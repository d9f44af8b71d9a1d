"""Serves the application with the fake embedder until its input ends: `python fuzz_service.py DSN`.

Writes a line of JSON with its address and a key when it listens, and one on the costliest turn of its event loop at the
end. Like the fuzzer, it is run by the tests of requests, in a process of its own, so that the turn is the service's.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import harness
import httpx

from app import capability_registry
from app.database import transactions
from app.serving import http_process
from app.settings import Settings

MOST_MS = 50.0
"""CPU time of the loop's thread that no turn of the loop, and so no callback, may take on a fast machine."""


def _most_ms() -> float:
    """What a turn may take on this machine as it is now: the time of a million additions, if that is more."""
    before = time.thread_time()
    sum(number for number in range(1_000_000))
    return max(MOST_MS, (time.thread_time() - before) * 1_000)


class TimedLoop(asyncio.SelectorEventLoop):
    """Knows its costliest turn since `reset`, one or more callbacks, by CPU time: a busy machine lets it wait."""

    def reset(self) -> None:
        """Forget the turns until now."""
        self.costliest_ms, self.stack, self._seen = 0.0, "", ""

    def _run_once(self) -> None:
        self._seen = ""
        signal.setitimer(signal.ITIMER_PROF, MOST_MS / 2_000)
        before = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        spent_ms = (time.thread_time() - before) * 1_000
        if spent_ms > self.costliest_ms:
            self.costliest_ms, self.stack = spent_ms, self._seen

    def record(self, _signal: int, frame: FrameType | None) -> None:
        """Note what runs: the handler of the signal that comes when a turn has taken half of the most."""
        self._seen = "".join(traceback.format_stack(frame)[-12:])


async def _serve(dsn: str, loop: TimedLoop) -> None:
    database = transactions.connect(dsn, pool_size=4, pool_wait_s=30)
    key = await harness.create_key(database, harness.new_user(), "search", "write", "admin")
    settings = Settings(auth="api_key", log_level="error")
    anyio.to_thread.current_default_thread_limiter()  # imports a module, which a new installation has yet to compile
    services = await harness.services(database)
    async with harness.running(settings, services) as app, harness.listening(app) as port:
        await http_process.prepare(settings, services)
        print(json.dumps({"address": f"http://127.0.0.1:{port}", "key": key}), flush=True)
        loop.call_soon(loop.reset)
        await asyncio.to_thread(sys.stdin.read)
        costliest = {"ms": loop.costliest_ms, "most_ms": _most_ms(), "stack": loop.stack}
        print(json.dumps(costliest), flush=True)
    await database.close()


class Process:
    """The service on a database, in a process of its own, with its address and a key."""

    def __init__(self, dsn: str) -> None:
        tests = Path(__file__).parent
        env = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
        command = [sys.executable, __file__, dsn]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
        self.address, self.key = self._reply().values()

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply

    def stop(self) -> dict[str, Any]:
        """End the service; returns `ms`, `most_ms` and `stack` of the costliest turn of its event loop."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            return self._reply()


def costliest(dsn: str, *works: Callable[[httpx.Client], object]) -> dict[str, Any]:
    """The costliest turn of a service's event loop while it answers first requests and those of these functions."""
    service = Process(dsn)
    headers = {"Authorization": f"Bearer {service.key}"}
    with httpx.Client(base_url=f"{service.address}/api/rag", headers=headers, timeout=120) as client:
        client.post("/documents", json={"content": "lime", "uri": "lime"}).raise_for_status()
        client.post("/search", json={"query": "lime"}).raise_for_status()
        client.get("/stats").raise_for_status()
        for work in works:
            work(client)
    return service.stop()


if __name__ == "__main__":
    capability_registry.register()
    timed = TimedLoop()
    timed.reset()
    signal.signal(signal.SIGPROF, timed.record)
    with asyncio.Runner(loop_factory=lambda: timed) as runner:
        runner.run(_serve(sys.argv[1], timed))
    signal.setitimer(signal.ITIMER_PROF, 0)
