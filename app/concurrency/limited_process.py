"""Runs a module in a process with limits, and exchanges messages with it: the ends of the service and of the process.

The process inherits neither sockets nor environment variables, and so no keys. It sets its limits itself, by `prepare`
and `limit`, before it reads the bytes of a file. A message is its length in four bytes, then JSON in UTF-8.
Bytes that it announces may follow. It is not pickle: the service must not trust a process that reads hostile files.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

SLICE = 1_000_000
"""Bytes that are passed at once, so that few of them are buffered."""
LENGTH_BYTES = 4
MOST_DESCRIPTORS = 1 << 20
"""Descriptors that are closed at most. Some systems set no limit, and closing them one by one would not end."""
NICENESS = 10
"""How far the priority of such a process is below the service's, which answers requests meanwhile."""


def encode(message: dict[str, Any]) -> bytes:
    """A message with its length."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":"), default=str).encode()
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def decode(body: bytes) -> dict[str, Any]:
    """The message in the bytes after its length. Raises ValueError, TypeError."""
    try:
        return dict(json.loads(body))
    except RecursionError as error:  # nested as deeply as the process could just write it
        raise ValueError("the message is nested too deeply") from error


def prepare() -> tuple[BinaryIO, BinaryIO]:
    """Close what else this process inherited, lower its priority and discard what libraries print.

    Returns where it reads and writes. The loop of the service, uvloop, lets a process inherit descriptors.
    """
    import resource  # not on every system on which the service runs

    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), MOST_DESCRIPTORS))
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    return source, target


def limit(*, memory: int | None = None, cpu_s: int | None = None) -> None:
    """Limit the bytes of address space and the seconds of CPU time of this process, within the system's own limits.

    macOS enforces no limit of memory, and refuses those that a program exceeds by its start: there is none.
    """
    import resource

    limits = {resource.RLIMIT_CPU: cpu_s, resource.RLIMIT_AS: None if sys.platform == "darwin" else memory}
    for kind, value in limits.items():
        if value is not None:
            most = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (value if most == resource.RLIM_INFINITY else min(value, most), most))


def read(source: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end."""
    length = source.read(LENGTH_BYTES)
    return decode(source.read(int.from_bytes(length, "big"))) if length else None


def write(target: BinaryIO, message: dict[str, Any], content: bytes = b"") -> None:
    """Write a message, and the bytes that it announces."""
    target.write(encode(message))
    target.write(content)


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
        try:
            target.write(encode(message))
            for start in range(0, len(content), SLICE):
                await target.drain()
                target.write(memoryview(content)[start : start + SLICE])
            await target.drain()
        except RuntimeError as error:  # of uvloop, for a pipe that is closed
            raise EOFError("the process has ended") from error

    async def receive(self, accept: Callable[[int], None]) -> dict[str, Any]:
        """The next message. `accept` is given its size and raises ValueError if it is too large.

        Raises EOFError if the process ends, and ValueError and TypeError if it writes something else.
        """
        size = int.from_bytes(await self.read(LENGTH_BYTES), "big")
        accept(size)
        return decode(await self.read(size))

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
