"""Exchanges metrics as text, on request, over a socket between the supervisor and a process of the service.

A question is an empty line; the answer is its length in a line of its own, and the text.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

ANSWER_S = 5.0


class Asker:
    """Asks the other end of a socket. Callers that ask at the same time share one answer."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pending: asyncio.Task[str] | None = None

    async def ask(self) -> str:
        """The other end's text. Raises OSError if it is closed, and its subclass TimeoutError after ANSWER_S."""
        if self._pending is None or self._pending.done():
            self._pending = asyncio.create_task(self._ask())
        async with asyncio.timeout(ANSWER_S):
            return await asyncio.shield(self._pending)

    async def _ask(self) -> str:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(sock=self._end)
        reader, writer = self._streams
        try:
            writer.write(b"\n")
            return (await reader.readexactly(int(await reader.readline() or b"0"))).decode()
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise ConnectionError("The other end is closed.") from error

    def close(self) -> None:
        """Close this end; later questions raise OSError."""
        if self._pending is not None:
            self._pending.cancel()
        if self._streams is not None:
            self._streams[1].close()
        else:
            self._end.close()


@asynccontextmanager
async def answering(
    end: socket.socket, text: Callable[[], Awaitable[str]], *, closed: Callable[[], None] | None = None
) -> AsyncIterator[None]:
    """Answers questions during the block; calls `closed` if the other end is closed meanwhile."""

    async def answer() -> None:
        await _answer(end, text)
        if closed is not None:
            closed()

    task = asyncio.create_task(answer())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _answer(end: socket.socket, text: Callable[[], Awaitable[str]]) -> None:
    """Answer questions until the other end is closed."""
    reader, writer = await asyncio.open_unix_connection(sock=end)
    try:
        with suppress(OSError):
            while await reader.readline():
                body = (await text()).encode()
                writer.write(b"%d\n%b" % (len(body), body))
                await writer.drain()
    finally:
        writer.close()
