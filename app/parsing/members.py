"""Reads the files in ZIP and TAR archives, and compressed files, one after the other and without writing them to disk.

Links are left out, and so are hidden files, those of macOS's `__MACOSX` and of `node_modules`: each is named, and of a
folder its path only. The whole archive is refused for a name that lies outside of it.
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
from typing import IO, Any, cast

from app.errors import UnreadableFile
from app.parsing import archives
from app.parsing.files import LARGEST_MEMBER, ArchiveMember, InputFile

_VENDORED, _OF_MACOS = "node_modules", "__MACOSX"
_HIDDEN = "The file is hidden, or one of a package, and is left out."
_LINK = "The file is a link, and is left out."
_UTF8 = 0x800
_HEADER = 512
_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


def read(file: InputFile) -> Iterator[ArchiveMember]:
    """The files of an archive, each name once. Raises UnreadableFile; files that were yielded before are complete."""
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
    """The files of a ZIP archive, whose entries were checked before."""
    with archives.opened(raw) as archive:
        for entry in archive.infolist():
            kind, path = stat.S_IFMT(entry.external_attr >> 16), _path(_name(entry))
            if not entry.is_dir() and path:
                left_out = _left_out(path, is_link=kind not in (0, stat.S_IFREG))
                yield left_out or _unzip(archive, entry, path)


def _left_out(path: str, *, is_link: bool) -> ArchiveMember | None:
    """The member for a link or device, or for the first hidden or fetched folder of a path; None for other files."""
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        if part in (_VENDORED, _OF_MACOS) or part.startswith("."):
            left_out = "/".join(parts[:number]) + "/" * (number < len(parts))
            return ArchiveMember(left_out, refused=_HIDDEN, left_out="vendored" if part == _VENDORED else "hidden")
    return ArchiveMember(path, refused=_LINK, left_out="link") if is_link else None


def _unzip(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str) -> ArchiveMember:
    if entry.file_size > LARGEST_MEMBER:
        return _too_large(path)
    try:
        return ArchiveMember(path, archive.read(entry))
    except (*_DAMAGE, NotImplementedError):  # only this file is damaged, or packed by a method that is unknown
        return ArchiveMember(path, refused="The file is damaged in the archive, or packed by an unknown method.")


def _name(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, which many programs write in UTF-8 without the flag that says so."""
    if entry.flag_bits & _UTF8:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode()
    except ValueError:
        return entry.filename


def _unpack(file: InputFile) -> Iterator[ArchiveMember]:
    """The files of a TAR archive, or the file that is compressed."""
    try:
        if _Limited(file.raw).read(_HEADER)[257:262] == b"ustar":
            yield from _tar(file.raw)
        else:
            path = _path(file.name.rpartition(".")[0] or "file")
            content = _Limited(file.raw).read(LARGEST_MEMBER + 1)
            yield ArchiveMember(path, content) if len(content) <= LARGEST_MEMBER else _too_large(path)
    except _DAMAGE as error:
        raise UnreadableFile("damaged", "The archive is damaged or incomplete: transfer it again.") from error


def _tar(raw: bytes) -> Iterator[ArchiveMember]:
    """The files of a TAR archive, which may be compressed. It is read once, from its beginning to its end."""
    source = _Limited(raw)
    with tarfile.open(fileobj=cast("IO[bytes]", source), mode="r|") as archive:
        for number, entry in enumerate(archive):
            if number >= archives.MAX_ENTRIES:
                raise UnreadableFile("parse_limit", f"The archive has more than {archives.MAX_ENTRIES:,} entries.")
            archives.check_name(entry.name)
            path = _path(entry.name)
            if path and not entry.isdir():
                left_out = _left_out(path, is_link=not entry.isreg())
                yield left_out or _untar(archive, entry, path)
    if any(source.last[-_HEADER:]):  # the library takes a truncated header for the end, which is a block of zeros
        raise EOFError


def _untar(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> ArchiveMember:
    if entry.size > LARGEST_MEMBER:
        return _too_large(path)
    if entry.issparse():  # it takes no place in the archive, whatever its size
        return ArchiveMember(path, refused="The file is packed as a sparse one: pack it without that option.")
    content = archive.extractfile(entry)
    return ArchiveMember(path, content.read() if content is not None else b"")


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
        archives.check_size(self._read, self._size)
        return found


def _path(name: str) -> str:
    """The path of a file within its archive; empty for a name without visible characters."""
    plain = "".join(filter(str.isprintable, unicodedata.normalize("NFC", name).replace("\\", "/")))
    return "/".join(part for part in plain.split("/") if part not in ("", "."))


def _too_large(path: str) -> ArchiveMember:
    message = f"The file is larger than {LARGEST_MEMBER // 1_000_000} MB."
    return ArchiveMember(path, refused=message, left_out="too_large")
