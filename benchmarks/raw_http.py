"""Sends HTTP requests byte by byte over plain sockets, to imitate misbehaving clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Opens a connection to the loopback port and drops it afterwards without waiting for the peer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Returns a request line with headers, including Host unless given."""
    given = {"Host": "127.0.0.1", **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def status(reader: asyncio.StreamReader, timeout_s: float) -> int | None:
    """Returns the status of the response, or None if none arrives in time or the connection ends first."""
    with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, ValueError, IndexError):
        async with asyncio.timeout(timeout_s):
            return int((await reader.readuntil(b"\r\n")).split()[1])
    return None


async def trickle(writer: asyncio.StreamWriter, data: bytes, *, pause_s: float, step: int = 1) -> None:
    """Sends data in steps of a few bytes with pauses. Raises OSError if the peer closes the connection."""
    for start in range(0, len(data), step):
        writer.write(data[start : start + step])
        await writer.drain()
        await asyncio.sleep(pause_s)
