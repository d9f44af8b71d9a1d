"""Passes files to a process that parses them, and ends it when a file exceeds the limits of memory or time.

The process parses one file after the other and is replaced after a failure. A parser serves only one user, so that a
hostile file cannot read the file of another user.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Self, get_args

from app.concurrency import limited_process
from app.concurrency.limited_process import LimitedProcess
from app.enums import LeftOutReason, values
from app.errors import UnreadableFile, UnreadableReason
from app.parsing import types
from app.parsing.formats import FileFormat
from app.parsing.types import ArchiveMember, ExtractedDocument, Picture, RecognisedLine

FILES_PER_PROCESS = 200
"""Files after which a process is replaced, because libraries may leak memory."""
MAX_PICTURES = 5_000
"""Most pictures that the process may send for one file. No parser sends so many."""
_STOPPED = "The file could not be read within the limits of memory and time: split it, or save it in a simpler form."
_REASONS: dict[str, UnreadableReason] = {reason: reason for reason in get_args(UnreadableReason)}


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of reading one file, and of all files of a request.

    Attributes:
        memory_bytes: Address space of the process.
        cpu_s: CPU time, in whole seconds.
        wall_s: How long the service waits for documents of the file.
        text_bytes: Size of all documents as JSON.
        request_s: How long the service waits for the documents of all files of a request.
        documents: Most documents, such as rows of a table, in a file of a request.
    """

    memory_bytes: int = 512_000_000
    cpu_s: int = 60
    wall_s: float = 90.0
    text_bytes: int = 200_000_000
    request_s: float = 300.0
    documents: int = 1_000


@dataclass(slots=True)
class ParseShare:
    """The seconds of waiting for the process that the files of one request may use together.

    `place` is entered while a file is parsed; it limits the number of files that are parsed at once.
    """

    seconds: float = math.inf
    place: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    used_s: float = 0.0

    @property
    def left_s(self) -> float:
        """The remaining seconds."""
        return self.seconds - self.used_s

    def error(self, *, recognised: int = 0) -> UnreadableFile:
        """The error if no time is left for a file, after `recognised` of its pictures."""
        remedy = "send the remaining files in further requests."
        if recognised:
            remedy = f"{recognised:,} pages or pictures are recognised and kept, send the file again to continue."
        message = f"Reading the files of this request took {self.seconds:.0f} seconds, which is its limit: {remedy}"
        return UnreadableFile("parse_limit", message)


class Unrecognised(Exception):
    """A picture could not be recognised. The message says why."""


Recognise = Callable[[Picture], Awaitable[Sequence[RecognisedLine]]]
"""Recognises a picture of the user's file. Raises Unrecognised."""


class Parser:
    """A context manager that parses files in a separate process. The first file starts the process."""

    def __init__(
        self, limits: ParseLimits, share: ParseShare | None = None, recognise: Recognise | None = None
    ) -> None:
        self.limits = limits
        self.share = share or ParseShare()
        self.recognise = recognise
        self._process = LimitedProcess(limited_process.module("app.parsing.worker"))
        self._files = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def documents(
        self, raw: bytes, format: FileFormat, *, name: str = "", text_field: str | None = None
    ) -> AsyncGenerator[ExtractedDocument | ArchiveMember, None]:
        """The documents of a file, or the unparsed files of an archive.

        Raises UnreadableFile, and OSError if the process cannot be started; everything yielded before is complete.
        """
        limits, budget = self.limits, _Budget(self.limits, self.share)
        request = types.ParseRequest(
            format.name, name, len(raw), text_field, limits.cpu_s, limits.memory_bytes, self.recognise is not None
        )
        async with self.share.place(), aclosing(self._messages(request, raw, budget)) as messages:
            if self.share.left_s <= 0:
                raise self.share.error()
            await self._process.start()
            finished = False
            try:
                async for message in messages:
                    if "code" not in message:
                        yield message["member"] if "member" in message else types.to_document(message["document"])
                        continue
                    finished = True
                    if (code := message["code"]) is not None:
                        raise UnreadableFile(_REASONS[str(code)], str(message.get("message")))
            except (TimeoutError, OSError, EOFError, ValueError, TypeError, KeyError) as error:
                if self.share.left_s <= 0:
                    raise self.share.error(recognised=budget.pictures) from error
                raise UnreadableFile("parse_limit", _STOPPED) from error
            finally:
                if not finished or self._files >= FILES_PER_PROCESS:
                    await self.stop()

    async def _messages(
        self, request: types.ParseRequest, raw: bytes, budget: _Budget
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The messages about a file, up to its last one. Raises EOFError if the process ends before."""
        self._files += 1
        async with budget.waiting():
            await self._process.send(asdict(request), raw)
        while True:
            async with budget.waiting():
                message = await self._process.receive(budget.take)
                if "member" in message:
                    message["member"] = await self._member(**message["member"])
                picture = await self._picture(**message["picture"]) if "picture" in message else None
            if picture is not None:
                await self._answer(picture, budget)
                continue
            yield message
            if "code" in message:
                return

    async def _answer(self, picture: Picture, budget: _Budget) -> None:
        """Recognise a picture for the process. Raises ValueError if the process may not send it, and TimeoutError."""
        if self.recognise is None:
            raise ValueError("no picture was asked for")
        try:
            async with budget.recognising():
                lines = await self.recognise(picture)
                answer: dict[str, Any] = {"lines": [(line.text, line.score, line.corners) for line in lines]}
        except Unrecognised as error:
            answer = {"refused": str(error)}
        await self._process.send(answer)

    async def _member(self, *, path: str, size: int, refused: str, left_out: str | None) -> ArchiveMember:
        """A file of an archive. Its content follows its message. Raises EOFError, ValueError, TypeError."""
        if not 0 <= size <= types.LARGEST_MEMBER:
            raise ValueError("the file of the archive is too large")
        reason = next((one for one in values(LeftOutReason) if one == left_out), None)
        return ArchiveMember(str(path), await self._process.read(size), str(refused), reason)

    async def _picture(self, *, width: int, height: int) -> Picture:
        """A picture, whose pixels follow its message. Raises EOFError, ValueError, TypeError."""
        if not (width > 0 and height > 0 and width * height <= types.MAX_PIXELS):
            raise ValueError("the picture has a wrong size")
        return Picture(width, height, await self._process.read(width * height))

    async def stop(self) -> None:
        """End the process. The next file starts another one."""
        self._files = 0
        await self._process.stop()


class _Budget:
    """The remaining time to wait for a file's documents, and their remaining size."""

    def __init__(self, limits: ParseLimits, share: ParseShare) -> None:
        self._seconds = limits.wall_s
        self._bytes = limits.text_bytes
        self._share = share
        self.pictures = 0

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Count the time of the block. Raises TimeoutError when none is left."""
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(self._seconds, self._share.left_s))):
                yield
        finally:
            took = asyncio.get_running_loop().time() - began
            self._seconds -= took
            self._share.used_s += took

    @asynccontextmanager
    async def recognising(self) -> AsyncIterator[None]:
        """Count a picture. Its time counts only for the request. Raises TimeoutError, and ValueError for too many."""
        if self.pictures >= MAX_PICTURES:
            raise ValueError("the file has too many pictures")
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(None if math.isinf(self._share.seconds) else max(0.0, self._share.left_s)):
                yield
        finally:
            self._share.used_s += asyncio.get_running_loop().time() - began
        self.pictures += 1
        self._seconds += types.PICTURE_CPU_S

    def take(self, size: int) -> None:
        """Count a message. Raises ValueError if all messages together are too large."""
        self._bytes -= size
        if self._bytes < 0:
            raise ValueError("the documents of the file are too large")
