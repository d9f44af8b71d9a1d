"""Samples the memory, CPU time and event-loop lag of a running service."""

from __future__ import annotations

import re
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field

import httpx
import psutil

from benchmarks.service import Service

LAG = re.compile(r"^stepwell_event_loop_lag_max_seconds (\S+)$", re.MULTILINE)
WARM_UP_S = 120.0
"""Samples from this long after the start of a process are left out."""
MIN_S = 300.0
"""Memory is judged only over at least this long after warm-up."""
MAX_GROWTH_MB, MAX_GROWTH = 24.0, 0.10
"""Memory is flat if its median grows by at most this, absolutely or relatively, from the first to the last quarter."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one process after warm-up: median of the first and last quarter, maximum, and slope."""

    first_mb: float
    last_mb: float
    max_mb: float
    slope_mb_per_hour: float
    minutes: float

    @property
    def is_flat(self) -> bool:
        """Whether the memory does not grow."""
        return self.last_mb - self.first_mb <= max(MAX_GROWTH_MB, MAX_GROWTH * self.first_mb)


@dataclass(slots=True)
class Samples:
    """Samples by process id."""

    memory: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[int, float] = field(default_factory=dict)
    max_lag_s: float | None = None

    async def take(self, service: Service, key: str) -> None:
        """Takes one sample; a process that does not answer now is sampled without the lag."""
        try:
            self.memory[service.process.pid].append((time.monotonic(), service.memory_mb()))
            self.cpu[service.process.pid] = service.cpu_s()
        except psutil.Error:
            return
        try:
            async with httpx.AsyncClient(base_url=service.address, timeout=10.0, trust_env=False) as client:
                response = await client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
        except httpx.TransportError:
            return
        if found := LAG.search(response.text):
            self.max_lag_s = max(self.max_lag_s or 0.0, float(found[1]))

    def longest_lived(self) -> Memory | None:
        """Returns the memory of the process with the most samples; None if it did not live long enough."""
        return summary(max(self.memory.values(), key=len, default=[]))


def summary(samples: list[tuple[float, float]]) -> Memory | None:
    """Summarises (seconds, megabytes) samples of one process; None for less than five minutes after warm-up."""
    warm = [(at, size) for at, size in samples if at >= samples[0][0] + WARM_UP_S]
    if not warm or warm[-1][0] - warm[0][0] < MIN_S:
        return None
    quarter = len(warm) // 4
    times, sizes = [at for at, _ in warm], [size for _, size in warm]
    return Memory(
        first_mb=statistics.median(sizes[:quarter]),
        last_mb=statistics.median(sizes[-quarter:]),
        max_mb=max(sizes),
        slope_mb_per_hour=statistics.linear_regression(times, sizes).slope * 3600,
        minutes=(times[-1] - times[0]) / 60,
    )
