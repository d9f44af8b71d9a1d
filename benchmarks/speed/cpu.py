"""Measures the CPU time that searches take in this process and in the Postgres process that serves it, on Linux."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from app.store.connection.transactions import Database


@dataclass(frozen=True, slots=True)
class CpuClock:
    """The CPU time of this process and, if it runs on this machine, of a Postgres process."""

    usage: Path

    @classmethod
    async def of(cls, db: Database, user_id: str) -> CpuClock:
        """Returns the clock of the connection that the next search uses: the most recently used one of the pool."""
        async with db.searching(user_id) as reading:
            found = await reading.execute(sa.text("SELECT pg_backend_pid()"))
        return cls(Path(f"/proc/{found.scalar_one()}/schedstat"))

    @property
    def is_known(self) -> bool:
        """Whether the time of the Postgres process can be read."""
        return self.usage.is_file()

    def milliseconds(self) -> float:
        """Returns the CPU time of both so far."""
        own = time.process_time() * 1_000
        return own + int(self.usage.read_text(encoding="ascii").split()[0]) / 1e6 if self.is_known else own
