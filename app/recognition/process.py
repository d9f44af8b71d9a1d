"""Passes pictures to a process that recognises their text, one at a time, shared fairly by the users.

The process is started with the first picture, replaced after a failure, and ended when it has been idle for a while,
because its models take much memory.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from app.concurrency import limited_process
from app.concurrency.limited_process import LimitedProcess
from app.concurrency.limiter import Limiter
from app.parsing.types import Picture, RecognisedLine

LIBRARY = "rapidocr"
VERSION = "rapidocr-3/PP-OCRv6-small"
"""Names the recogniser and its models. If it changes, pictures are recognised again."""
MAX_LINES = 16_000_000
"""Bytes of the lines of one picture as JSON."""
WORKER = limited_process.module("app.recognition.worker")
"""The program that recognises pictures, without its arguments: bytes of memory, and threads."""


class RecognitionFailed(Exception):
    """The process took too long with a picture, or ended twice with it."""


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
        arguments = (str(self._limits.memory_bytes), str(self._limits.threads))
        self._process = LimitedProcess((*program, *arguments), {"OMP_NUM_THREADS": "1"})
        self._turns = Limiter(1)
        self._idle: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._cancel_expiry()
        if self._stopping is not None:
            await self._stopping
        await self._process.stop()

    async def lines(self, picture: Picture, user_id: str) -> list[RecognisedLine]:
        """The lines of text on a picture, in no particular order. Raises RecognitionFailed.

        A caller that is cancelled ends the process, and the next picture starts another.
        """
        async with self._turns.turn(user_id):
            self._cancel_expiry()
            try:
                return await self._first_success(picture)
            finally:
                self._idle = asyncio.get_running_loop().call_later(self._limits.idle_s, self._expire)

    async def _first_success(self, picture: Picture) -> list[RecognisedLine]:
        """The lines by the first of two attempts that succeeds. After a timeout there is no second one."""
        for is_last in (False, True):
            finished = False
            try:
                async with asyncio.timeout(self._limits.picture_s):
                    await self._process.start()
                    await self._process.send({"width": picture.width, "height": picture.height}, picture.pixels)
                    answer = await self._process.receive(_check_size)
                    lines = [as_line(*one) for one in answer["lines"]]
                finished = True
                return lines
            except (TimeoutError, OSError, EOFError, ValueError, TypeError, KeyError) as error:
                if is_last or isinstance(error, TimeoutError):
                    raise RecognitionFailed from error
            finally:
                if not finished:
                    await self._process.stop()
        raise AssertionError

    def _cancel_expiry(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _expire(self) -> None:
        """End the process, which waits for its next picture."""
        if not self._turns.running:
            self._stopping = asyncio.ensure_future(self._process.stop())


def _check_size(size: int) -> None:
    if size > MAX_LINES:
        raise ValueError("the lines of the picture are too large")


def as_line(text: str, score: float, corners: Sequence[Any]) -> RecognisedLine:
    """A line whose corners are a list of eight numbers. Raises ValueError, TypeError."""
    x0, y0, x1, y1, x2, y2, x3, y3 = map(float, corners)
    return RecognisedLine(str(text), float(score), (x0, y0, x1, y1, x2, y2, x3, y3))
