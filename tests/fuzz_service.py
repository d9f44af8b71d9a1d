"""Serves the application with the fake embedder until its input ends: `python fuzz_service.py DSN`.

Writes a line of JSON with its address and a key when it listens, and one on the longest stall of its event loop at the
end. Like the fuzzer, it is run by the tests of requests, in a process of its own, so that the stall is the service's.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import harness
import httpx

from app import capabilities
from app.database import transactions
from app.settings import Settings

BEAT_S = 0.01
STALLED_S = 0.05
MOST_MS = 50.0
"""CPU time of the loop's thread that no callback may take."""


@dataclass
class Stall:
    """The longest time between two beats of the loop, the CPU time of its thread and of all threads in it (ms)."""

    wall: float = 0.0
    loop_cpu: float = 0.0
    process_cpu: float = 0.0
    stack: str = ""


class Stalls:
    """Measures how late a loop is, by CPU time too: on a busy machine a process waits without having anything to do.

    A timer's signal shows what runs when a beat is late.
    """

    def __init__(self) -> None:
        self.longest, self.costliest = Stall(), Stall()
        self._stack = ""
        signal.signal(signal.SIGALRM, self._record)

    async def beat(self) -> None:
        """Run until cancelled."""
        while True:
            before = (time.monotonic(), time.thread_time(), time.process_time())
            self._stack = ""
            signal.setitimer(signal.ITIMER_REAL, STALLED_S)
            await asyncio.sleep(BEAT_S)
            after = (time.monotonic(), time.thread_time(), time.process_time())
            wall, loop_cpu, process_cpu = ((b - a) * 1_000 for a, b in zip(before, after, strict=True))
            seen = Stall(wall - 1_000 * BEAT_S, loop_cpu, process_cpu, self._stack)
            self.longest = max(self.longest, seen, key=lambda stall: stall.wall)
            self.costliest = max(self.costliest, seen, key=lambda stall: stall.loop_cpu)

    def _record(self, _signal: int, frame: FrameType | None) -> None:
        self._stack = "".join(traceback.format_stack(frame)[-12:])


async def _serve(dsn: str) -> None:
    database = transactions.connect(dsn, pool_size=4, pool_wait_s=30)
    key = await harness.create_key(database, harness.new_user(), "search", "write", "admin")
    settings = Settings(auth="api_key", log_level="error")
    stalls = Stalls()
    async with (
        harness.running(settings, await harness.services(database)) as app,
        harness.listening(app) as port,
    ):
        gc.collect()
        gc.freeze()  # as `serve` does
        beating = asyncio.create_task(stalls.beat())
        print(json.dumps({"address": f"http://127.0.0.1:{port}", "key": key}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        beating.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps({"longest": asdict(stalls.longest), "costliest": asdict(stalls.costliest)}), flush=True)
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
        """End the service; returns the stalls of its event loop."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            return self._reply()


def costliest(dsn: str, *works: Callable[[httpx.Client], object]) -> dict[str, Any]:
    """The costliest stall of a service while these functions send requests, after the first ones of a process."""
    service = Process(dsn)
    headers = {"Authorization": f"Bearer {service.key}"}
    with httpx.Client(base_url=f"{service.address}/api/rag", headers=headers, timeout=120) as client:
        client.post("/documents", json={"content": "lime", "uri": "lime"}).raise_for_status()
        client.post("/search", json={"query": "lime"}).raise_for_status()
        client.get("/stats").raise_for_status()
        for work in works:
            work(client)
    stall: dict[str, Any] = service.stop()["costliest"]
    return stall


if __name__ == "__main__":
    capabilities.register()
    asyncio.run(_serve(sys.argv[1]))
