"""Keeps how long statements took, by name, and how long transactions waited for a connection."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

SLOW_S = 1.0
"""Seconds from which on a statement is logged."""


@dataclass(slots=True)
class Total:
    """How many times something was measured, and the sum in seconds."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one measurement."""
        self.count += 1
        self.seconds += seconds


@dataclass(slots=True)
class Durations:
    """Totals of statements by name and of waits for a connection, and the transactions that wait now."""

    statements: defaultdict[str, Total] = field(default_factory=lambda: defaultdict(Total))
    waits: Total = field(default_factory=Total)
    waiting: int = 0

    def note_statement(self, name: str, seconds: float) -> None:
        """Add a statement, also one that failed, and log it if it was slow."""
        self.statements[name].add(seconds)
        if seconds >= SLOW_S:
            log.info("slow statement", extra={"statement": name, "took_ms": round(seconds * 1000)})

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Add the time of the block, which waits for a connection."""
        began = time.perf_counter()
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
            self.waits.add(time.perf_counter() - began)
