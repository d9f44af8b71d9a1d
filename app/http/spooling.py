"""Receives request bodies, and writes large ones to a temporary file instead of keeping them in memory.

So neither many nor slow senders hold the memory of their bodies. The folder is that of Python's `tempfile` (`TMPDIR`).
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import Self

from starlette.types import Message, Receive

from app import errors

IN_MEMORY = 1_000_000
"""Bytes of a body that are kept in memory."""
PART = 256_000
"""Bytes of a received body that are handed on at a time."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MISSING = (errno.ENOENT, errno.EROFS)


class SpooledBody:
    """A received body of `size` bytes. Use it as a context manager, which deletes the file."""

    def __init__(self) -> None:
        self.size = 0
        self._file = SpooledTemporaryFile[bytes](max_size=IN_MEMORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    @property
    def is_on_disk(self) -> bool:
        """Whether the body is in a file."""
        return self.size > IN_MEMORY

    async def receive(self, parts: AsyncIterable[bytes]) -> None:
        """Append all parts. Raises DiskFull."""
        pending = bytearray()
        async for part in parts:
            pending += part
            self.size += len(part)
            if len(pending) > IN_MEMORY:
                await asyncio.to_thread(self._write, bytes(pending))
                pending.clear()
        if self.is_on_disk:
            await asyncio.to_thread(self._write, bytes(pending))
        else:
            self._write(bytes(pending))

    def replay(self, *, then: Receive) -> Receive:
        """A function that receives the body once more, and then what `then` receives."""
        self._file.seek(0)
        left, complete = self.size, False

        async def receive() -> Message:
            nonlocal left, complete
            if complete:
                return await then()
            read = self._file.read
            part = await asyncio.to_thread(read, PART) if self.is_on_disk else read(PART)
            left -= len(part)
            complete = left <= 0
            return {"type": "http.request", "body": part, "more_body": not complete}

        return receive

    def content(self) -> bytes:
        """The whole body; may read a file."""
        self._file.seek(0)
        return self._file.read()

    def _write(self, part: bytes) -> None:
        with disk_errors():
            self._file.write(part)


@contextmanager
def disk_errors() -> Iterator[None]:
    """Translate the errors of a full or unwritable disk, within the block, to DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno in _MISSING:
            raise errors.DiskFull("No folder for temporary files can be written: let TMPDIR name one.") from error
        if error.errno not in _FULL:
            raise
        raise errors.DiskFull("The disk for temporary files is full; nothing was stored.") from error
