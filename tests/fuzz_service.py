"""Serves the application with the fake embedder until its input ends: `python fuzz_service.py DSN`.

Writes a line of JSON with its address and a key when it listens, and one on the longest stall of its event loop at the
end. Like the fuzzer, it is run by the tests of requests, in a process of its own, so that the stall is the service's.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from types import FrameType

import harness

from app import capabilities
from app.database import transactions
from app.settings import Settings

BEAT_S = 0.01
STALLED_S = 0.05


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


if __name__ == "__main__":
    capabilities.register()
    asyncio.run(_serve(sys.argv[1]))
