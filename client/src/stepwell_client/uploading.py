"""Reads files for an upload piece by piece, and reports how much has been read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

File = str | os.PathLike[str] | tuple[str, bytes]
"""The path of a file, or a name or relative path with the content."""
Progress = Callable[[int, int], object]
"""Called with the number of bytes that were sent, and that of all files."""


class UploadProgress:
    """Adds up the bytes of all files of an upload."""

    def __init__(self, total: int, report: Progress) -> None:
        self._total, self._report, self._sent = total, report, 0

    def add(self, count: int) -> None:
        """Report that more bytes were sent, or fewer if a file is sent again."""
        self._sent += count
        self._report(self._sent, self._total)


class UploadedFile(io.RawIOBase):
    """A file that is opened at the first read and closed at its end."""

    def __init__(self, file: File, progress: UploadProgress) -> None:
        self._path = None if isinstance(file, tuple) else Path(file)
        self._content = file[1] if isinstance(file, tuple) else b""
        self._size, self._progress = size_of(file), progress
        self._stream: IO[bytes] | None = None
        self._sent = 0

    def fileno(self) -> int:
        """Raises OSError: the length is found by `seek`."""
        raise OSError

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Begin again, or return the size."""
        if whence == os.SEEK_SET and self._stream is not None:
            self._stream.close()
            self._stream = None
            self._progress.add(-self._sent)
            self._sent = 0
        return self._size if whence == os.SEEK_END else offset

    def tell(self) -> int:
        """The place of the next byte."""
        return self._sent

    def read(self, size: int = -1) -> bytes:
        """The next bytes; none at the end."""
        if self._stream is None:
            self._stream = io.BytesIO(self._content) if self._path is None else self._path.open("rb")
        part = self._stream.read(size)
        if part:
            self._sent += len(part)
            self._progress.add(len(part))
        else:
            self._stream.close()
        return part


def size_of(file: File) -> int:
    """The number of bytes of a file. Raises OSError."""
    return len(file[1]) if isinstance(file, tuple) else Path(file).stat().st_size


def parts(files: list[File], report: Progress) -> list[tuple[str, tuple[str, UploadedFile]]]:
    """The parts of a form with the files."""
    progress = UploadProgress(sum(map(size_of, files)), report)
    names = [file[0] if isinstance(file, tuple) else Path(file).name for file in files]
    return [("files", (name, UploadedFile(file, progress))) for name, file in zip(names, files, strict=True)]
