"""Reads the files in ZIP and TAR archives, and compressed files, one after the other and without writing them to disk.

It leaves out links, hidden files, and the files of macOS's `__MACOSX` and of `node_modules`. Each of them is named; for
a folder, only its path. If a name is outside of the archive, the whole archive is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, cast

from app.errors import UnreadableFile
from app.parsing import zip_packages
from app.parsing.types import LARGEST_MEMBER, ArchiveMember, InputFile

_VENDORED, _OF_MACOS = "node_modules", "__MACOSX"
_HIDDEN = "The file is hidden, or one of a package, and is left out."
_LINK = "The file is a link, and is left out."
_TOO_LARGE = f"The file is larger than {LARGEST_MEMBER // 1_000_000} MB."
_UTF8 = 0x800
_HEADER = 512
_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


def read(file: InputFile) -> Iterator[ArchiveMember]:
    """The files of an archive, each name once. Raises UnreadableFile; the files yielded before are complete."""
    seen: set[str] = set()
    has_files = False
    found = _zip(file.raw) if file.raw.startswith(b"PK") else _unpack(file)
    for member in found:
        if member.path in seen and member.left_out is not None:
            continue
        if member.path in seen:
            member = ArchiveMember(member.path, refused="An earlier file of the archive has the same name.")
        seen.add(member.path)
        has_files = has_files or member.left_out in (None, "too_large")
        yield member
    if not has_files:
        raise UnreadableFile("no_text", "The archive contains no files, other than hidden ones.")


def _zip(raw: bytes) -> Iterator[ArchiveMember]:
    """The files of a ZIP archive. Its entries have been checked."""
    with zip_packages.open_archive(raw) as archive:
        for entry in archive.infolist():
            name = entry.filename
            if not entry.flag_bits & _UTF8:  # many programs write UTF-8 without the flag that says so
                with suppress(ValueError):
                    name = name.encode("cp437").decode()
            kind, path = stat.S_IFMT(entry.external_attr >> 16), _path(name)
            if entry.is_dir() or not path:
                continue
            member = _left_out(path, is_link=kind not in (0, stat.S_IFREG), size=entry.file_size)
            if member is None:
                try:
                    member = ArchiveMember(path, archive.read(entry))
                except (*_DAMAGE, NotImplementedError):  # only this file
                    message = "The file is damaged in the archive, or packed by an unknown method."
                    member = ArchiveMember(path, refused=message)
            yield member


def _left_out(path: str, *, is_link: bool, size: int) -> ArchiveMember | None:
    """The member for a link, device or large file, or for the first hidden or vendored part of a path; else None."""
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        if part in (_VENDORED, _OF_MACOS) or part.startswith("."):
            left_out = "/".join(parts[:number]) + "/" * (number < len(parts))
            return ArchiveMember(left_out, refused=_HIDDEN, left_out="vendored" if part == _VENDORED else "hidden")
    if is_link:
        return ArchiveMember(path, refused=_LINK, left_out="link")
    return ArchiveMember(path, refused=_TOO_LARGE, left_out="too_large") if size > LARGEST_MEMBER else None


def _unpack(file: InputFile) -> Iterator[ArchiveMember]:
    """The files of a TAR archive, or the file that is compressed."""
    try:
        if _Limited(file.raw).read(_HEADER)[257:262] == b"ustar":
            yield from _tar(file.raw)
        else:
            path = _path(file.name.rpartition(".")[0] or "file")
            content = _Limited(file.raw).read(LARGEST_MEMBER + 1)
            if len(content) > LARGEST_MEMBER:
                yield ArchiveMember(path, refused=_TOO_LARGE, left_out="too_large")
            else:
                yield ArchiveMember(path, content)
    except _DAMAGE as error:
        raise UnreadableFile("damaged", "The archive is damaged or incomplete: transfer it again.") from error


def _tar(raw: bytes) -> Iterator[ArchiveMember]:
    """The files of a TAR archive, compressed or not. It is read once, from beginning to end."""
    source = _Limited(raw)
    with tarfile.open(fileobj=cast("IO[bytes]", source), mode="r|") as archive:
        for number, entry in enumerate(archive):
            if number >= zip_packages.MAX_ENTRIES:
                raise UnreadableFile("parse_limit", f"The archive has more than {zip_packages.MAX_ENTRIES:,} entries.")
            zip_packages.check_name(entry.name)
            path = _path(entry.name)
            if entry.isdir() or not path:
                continue
            member = _left_out(path, is_link=not entry.isreg(), size=entry.size)
            if member is None and entry.issparse():  # it takes no place in the archive, whatever its size
                member = ArchiveMember(path, refused="The file is packed as a sparse one: pack it without that option.")
            elif member is None:
                content = archive.extractfile(entry)
                member = ArchiveMember(path, content.read() if content is not None else b"")
            yield member
    if any(source.last[-_HEADER:]):  # the library takes a truncated header for the end, which is a block of zeros
        raise EOFError


class _Limited(io.RawIOBase):
    """The bytes of an archive or of a compressed file, unpacked up to the limits of all archives."""

    def __init__(self, raw: bytes) -> None:
        opened = next((opened for start, opened in _PACKED.items() if raw.startswith(start)), None)
        self._source = opened(io.BytesIO(raw)) if opened else io.BytesIO(raw)
        self._size = len(raw)
        self._read = 0
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises UnreadableFile beyond the limits."""
        found: bytes = self._source.read(size)
        self._read += len(found)
        self.last = found or self.last
        zip_packages.check_size(self._read, self._size)
        return found


def _path(name: str) -> str:
    """The path of a file within its archive; empty for a name without visible characters."""
    plain = "".join(filter(str.isprintable, unicodedata.normalize("NFC", name).replace("\\", "/")))
    return "/".join(part for part in plain.split("/") if part not in ("", "."))
