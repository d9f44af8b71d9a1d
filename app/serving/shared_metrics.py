"""Adds up the metrics of the processes of a service, which read each other's over sockets in a folder of theirs.

Whoever reads the metrics of a process keeps them in a file, from which its successor counts on, so that no count
decreases.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from app.http.monitoring import metric_sums

ANSWER_S = 5.0


class SharedMetrics:
    """The metrics of all processes, as the one with this number reads them."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._socket = folder / f"{number}.socket"
        kept = _kept_file(self._socket)
        self._before = kept.read_text() if kept.exists() else ""

    @asynccontextmanager
    async def shown(self, own: Callable[[], Awaitable[str]]) -> AsyncIterator[None]:
        """Show this process's metrics to the others during the block."""

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(metric_sums.added([await own()], ended=[self._before]).encode())
            writer.close()

        async with await asyncio.start_unix_server(answer, self._socket):
            yield

    async def total(self) -> str:
        """The metrics of the processes that answer, and the last known counts of the others."""
        sockets = sorted(self._folder.glob("*.socket"))
        read = await asyncio.gather(*map(_read, sockets))
        ended = [_kept_file(one) for one, text in zip(sockets, read, strict=True) if not text]
        return metric_sums.added(filter(None, read), ended=[one.read_text() for one in ended if one.exists()])


async def _read(path: Path) -> str:
    """The metrics that a process shows, which are kept; empty where it does not answer."""
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_unix_connection(path)
            text = (await reader.read(-1)).decode()
            writer.close()
    except OSError:  # of which TimeoutError is a subclass
        return ""
    new = path.with_suffix(f".{uuid.uuid4().hex}")
    new.write_text(text)
    os.replace(new, _kept_file(path))
    return text


def _kept_file(path: Path) -> Path:
    return path.with_suffix(".metrics")
