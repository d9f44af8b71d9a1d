"""Passes pictures to a process that recognises their text, one at a time, shared fairly by the users.

The process inherits neither sockets nor environment variables, and so no keys. It is started with the first picture,
replaced after a failure, and ended when it has been idle for a while, because its models take much memory.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from app.shapes import Picture, RecognisedLine

LIBRARY = "rapidocr"
VERSION = "rapidocr-3/PP-OCRv6-small"
"""Names the recogniser and its models; lines that another one recognised are recognised again."""
MAX_LINE = 16_000_000
"""Bytes of the lines of one picture as JSON."""
WORKER = (sys.executable, "-I", "-m", "app.recognition.worker")
"""The program that recognises pictures, without its arguments: bytes of memory, and threads."""
_PIPE = 1_000_000


class RecognitionFailed(Exception):
    """The process ended, or took too long, twice with the same picture."""


@dataclass(frozen=True, slots=True)
class RecognitionLimits:
    """Limits of the process.

    Attributes:
        memory_bytes: Address space of the process.
        picture_s: Seconds that recognising one picture may take, the start of the process included.
        threads: Threads that compute.
        idle_s: Seconds without a picture after which the process ends.
    """

    memory_bytes: int = 4_000_000_000
    picture_s: float = 180.0
    threads: int = 1
    idle_s: float = 60.0


def is_installed() -> bool:
    """Whether the library of the recogniser is installed."""
    return importlib.util.find_spec(LIBRARY) is not None


class Recogniser:
    """Recognises pictures of all users in one process; a context manager."""

    def __init__(self, limits: RecognitionLimits | None = None, *, program: Sequence[str] = WORKER) -> None:
        self._limits = limits or RecognitionLimits()
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._turns = _Turns()
        self._idle: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stay()
        if self._stopping is not None:
            await self._stopping
        await self._stop()

    async def lines(self, picture: Picture, user_id: str) -> list[RecognisedLine]:
        """The lines of text on a picture, in no particular order. Raises RecognitionFailed.

        A caller that is cancelled ends the process, and the next picture starts another.
        """
        async with self._turns.turn(user_id):
            self._stay()
            try:
                return await self._first_success(picture)
            finally:
                self._idle = asyncio.get_running_loop().call_later(self._limits.idle_s, self._expire)

    async def _first_success(self, picture: Picture) -> list[RecognisedLine]:
        """The lines by the first of two attempts that succeeds."""
        for is_last in (False, True):
            finished = False
            try:
                async with asyncio.timeout(self._limits.picture_s):
                    lines = await self._answer(picture)
                finished = True
                return lines
            except (TimeoutError, OSError, EOFError, ValueError, TypeError) as error:
                if is_last or isinstance(error, TimeoutError):
                    raise RecognitionFailed from error
            finally:
                if not finished:
                    await self._stop()
        raise AssertionError

    async def _answer(self, picture: Picture) -> list[RecognisedLine]:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([picture.width, picture.height]).encode() + b"\n")
        for start in range(0, len(picture.pixels), _PIPE):
            process.stdin.write(memoryview(picture.pixels)[start : start + _PIPE])
            await process.stdin.drain()
        answer = await process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise EOFError
        return [as_line(*one) for one in json.loads(answer)]

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self._program,
                str(self._limits.memory_bytes),
                str(self._limits.threads),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"},
                cwd="/",
                limit=MAX_LINE,
            )
        return self._process

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _expire(self) -> None:
        """End the process, which waits for its next picture."""
        if not self._turns.is_taken and self._process is not None:
            self._stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


class _Turns:
    """One turn at a time; those who wait are served round-robin by user."""

    def __init__(self) -> None:
        self.is_taken = False
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        """Hold the turn during the block."""
        if self.is_taken:
            await self._wait(user)
        self.is_taken = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, user: str) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._lines.setdefault(user, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        self.is_taken = False
        while self._lines:
            user, line = self._lines.popitem(last=False)
            granted = line.popleft()
            if line:
                self._lines[user] = line
            if not granted.done():
                self.is_taken = True
                granted.set_result(None)
                return


def as_line(text: str, score: float, corners: Sequence[Any]) -> RecognisedLine:
    """A line whose corners are a list of eight numbers. Raises ValueError, TypeError."""
    x0, y0, x1, y1, x2, y2, x3, y3 = map(float, corners)
    return RecognisedLine(str(text), float(score), (x0, y0, x1, y1, x2, y2, x3, y3))
