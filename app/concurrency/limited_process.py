"""Runs a module in a process with limits, and exchanges messages with it.

The process inherits neither sockets nor environment variables, and so no keys. It sets its limits itself, by
`pipes.prepare`, before it reads what it is sent.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.concurrency import pipes

SLICE = 1_000_000
"""Bytes that are passed at once, so that few of them are buffered."""


def module(name: str, *arguments: object) -> tuple[str, ...]:
    """The program that runs a module of this package's environment."""
    return (sys.executable, "-I", "-m", name, *map(str, arguments))


class LimitedProcess:
    """A program in a process of its own, which is started when it is needed."""

    def __init__(self, program: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._program = program
        self._environment = {"PATH": os.defpath, "LANG": "C.UTF-8", **(environment or {})}
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process, unless it runs."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self._program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._environment,
                cwd="/",
            )

    async def send(self, message: dict[str, Any], content: bytes = b"") -> None:
        """Send a message to the running process, and the bytes that it announces. Raises OSError, EOFError."""
        target = self._running().stdin
        assert target is not None
        target.write(pipes.encode(message))
        for start in range(0, len(content), SLICE):
            await target.drain()
            target.write(memoryview(content)[start : start + SLICE])
        await target.drain()

    async def receive(self, accept: Callable[[int], None]) -> dict[str, Any]:
        """The next message. `accept` is given its size and raises ValueError if it is too large.

        Raises EOFError if the process ends, and ValueError and TypeError if it writes something else.
        """
        size = int.from_bytes(await self.read(pipes.LENGTH_BYTES), "big")
        accept(size)
        return pipes.decode(await self.read(size))

    async def read(self, size: int) -> bytes:
        """So many bytes, which the last message announced. Raises EOFError if the process ends."""
        source = self._running().stdout
        assert source is not None
        return await source.readexactly(size)

    async def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise EOFError("the process does not run")
        return self._process
