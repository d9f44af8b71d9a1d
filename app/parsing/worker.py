"""Main function of the process that parses files: reads files from standard input and writes their documents.

The limits of memory and of CPU time are set before a file is read.
"""

from __future__ import annotations

import importlib
import resource
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

from app.concurrency import limited_process
from app.errors import UnreadableFile
from app.parsing import completeness, formats, types, zip_packages
from app.parsing.completeness import Content
from app.parsing.formats import FileFormat
from app.parsing.types import ArchiveMember, ExtractedDocument, InputFile, Picture, RecognisedLine

DAMAGED = "The file is damaged, or its content does not have the format that its beginning has."
OUT_OF_MEMORY = "The file needs more memory to be read than is allowed: split it."


def main() -> None:
    """Parse files until standard input ends."""
    source, target = limited_process.prepare()
    while (message := limited_process.read(source)) is not None:
        request = types.ParseRequest(**message)
        limited_process.limit(memory=request.memory_bytes, cpu_s=int(time.process_time()) + 1 + request.cpu_s)
        raw = source.read(request.size)
        recognise = partial(_recognise, source, target) if request.recognises else None
        for part in _parts(request, InputFile(raw, request.name, request.text_field, recognise)):
            target.write(part)
        target.flush()


def _recognise(source: BinaryIO, target: BinaryIO, picture: Picture) -> Sequence[RecognisedLine]:
    """The lines on a picture, from the service; the limit of CPU time is raised for it. Raises UnreadableFile."""
    limited_process.write(target, {"picture": {"width": picture.width, "height": picture.height}}, picture.pixels)
    target.flush()
    answer = limited_process.read(source) or {"refused": "The service has ended."}
    if "refused" in answer:
        raise UnreadableFile("parse_limit", str(answer["refused"]))
    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    limited_process.limit(cpu_s=seconds + types.PICTURE_CPU_S)
    return [RecognisedLine(text, score, tuple(corners)) for text, score, corners in answer["lines"]]


def _parts(request: types.ParseRequest, file: InputFile) -> Iterator[bytes]:
    """The documents of a file, or the files of an archive, then one message about the result."""
    try:
        for found in read(file, formats.BY_NAME[request.format]):
            if isinstance(found, ArchiveMember):
                why = {"refused": found.refused, "left_out": found.left_out}
                yield limited_process.encode({"member": {"path": found.path, "size": len(found.raw), **why}})
                yield found.raw
            else:
                yield limited_process.encode(types.from_document(found))
        end: dict[str, str | None] = {"code": None}
    except UnreadableFile as error:
        end = {"code": error.code, "message": error.message}
    except MemoryError:
        end = {"code": "parse_limit", "message": OUT_OF_MEMORY}
    except Exception:  # any failure of a library on a hostile file
        end = {"code": "damaged", "message": DAMAGED}
    yield limited_process.encode(end)


def read(file: InputFile, sniffed: FileFormat) -> Iterator[ExtractedDocument | ArchiveMember]:
    """The documents of a file, with warnings about left-out and lost text, or the files of an archive.

    Raises UnreadableFile, and whatever the libraries raise.
    """
    checks = {formats.ARCHIVE: zip_packages.check, formats.OLD_OFFICE: zip_packages.check_old_office}
    format = checks[sniffed](file) if sniffed in checks else sniffed
    module = importlib.import_module(f"app.parsing.{format.parser}")
    content: Content | None = getattr(module, "content", None)
    return completeness.check(module.read(file), content, file.raw) if content else module.read(file)


if __name__ == "__main__":
    main()
