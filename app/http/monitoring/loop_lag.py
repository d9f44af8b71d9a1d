"""Measures how late the event loop runs its timers: the time for which one piece of work delays all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

INTERVAL_S = 0.05


async def monitor(observe: Callable[[float], None], *, interval_s: float = INTERVAL_S) -> None:
    """Sleep `interval_s` again and again, and report by how many seconds each sleep was too long.

    A stall that begins during a sleep is reported by up to `interval_s` less than it lasts. Runs until it is cancelled.
    """
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        observe(max(0.0, loop.time() - due))
