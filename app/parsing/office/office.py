"""Reads DOCX, PPTX, ODT, ODP, RTF, and DOC and PPT of Office before 2007; a slide is a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import anydoc

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.office import office_parts
from app.parsing.office.blocks import Writer
from app.parsing.office.office_parts import Package
from app.parsing.pages import pictures
from app.parsing.pages.pictures import Embedded

_RTF = b"{\\rtf"
_HEAD = 1_000_000
"""Bytes at the beginning of an RTF file that have its properties."""
_CODE_PAGE = re.compile(rb"\\ansicpg\d{1,5}")
_CREATED = re.compile(rb"\\creatim\s*\\yr(\d{1,4})\\mo(\d{1,2})\\dy(\d{1,2})(?:\\hr(\d{1,2}))?(?:\\min(\d{1,2}))?")
_PROPERTY = rb"\{\\%s\b((?:[^{}\\]|\\.|\{[^{}]{0,1000}\}){0,4000})\}"

content = office_parts.content


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author, language and creation time. Raises UnreadableFile.

    The title of a presentation is that of its first slide, because its own is often that of the template.
    """
    package = _prepare_rtf(file.raw) if file.raw.startswith(_RTF) else office_parts.prepare(file.raw)
    embedded = Embedded(file.recognise)
    writer = Writer(_parse(package.raw), embedded)
    pages = writer.pages()
    pages[-1] = "\n\n".join(filter(None, [pages[-1], *package.extras]))
    if not any(pages):
        raise pictures.blank("The document contains no text.", file.recognise)
    yield ExtractedDocument(
        "\n\n".join(pages),
        title=(_title(pages[0]) if package.has_slides else "") or package.title,
        metadata=dict(package.metadata),
        language=package.language or None,
        created_at=package.created_at,
        page_starts=pictures.page_starts(pages) if package.has_slides else (),
        warnings=tuple(embedded.warnings),
        left_out=(*package.left_out, *writer.left_out),
    )


def _parse(raw: bytes) -> anydoc.Document:
    try:
        return anydoc.to_document(raw)
    except anydoc.EncryptedError as error:
        raise UnreadableFile("encrypted", "The file is protected by a password: save it without one.") from error
    except anydoc.ResourceLimitError as error:
        raise UnreadableFile("parse_limit", "The file unpacks to more than is allowed.") from error
    except anydoc.ConvertError as error:
        raise UnreadableFile("damaged", "The file is damaged or incomplete: save it again.") from error


def _title(slide: str) -> str:
    first = slide.partition("\n")[0]
    return first.removeprefix("## ") if first.startswith("## ") else ""


def _prepare_rtf(raw: bytes) -> Package:
    """An RTF file with its properties. Raises UnreadableFile for one whose end is missing."""
    if not raw.rstrip(b"\r\n\t \x00").endswith(b"}"):
        raise UnreadableFile("damaged", "The document is incomplete: its end is missing. Transfer it again.")
    author = _property(raw, b"author")
    return Package(
        raw, _property(raw, b"title"), {"author": author} if author else {}, created_at=_created_at(raw[:_HEAD])
    )


def _property(raw: bytes, name: bytes) -> str:
    """A property in the description of an RTF file; empty if there is none."""
    found = re.search(_PROPERTY % name, raw[:_HEAD], re.S)
    if found is None:
        return ""
    code_page = _CODE_PAGE.search(raw[:_HEAD])
    whole = rb"{\rtf1\ansi%s %s}" % (code_page[0] if code_page else b"", found[1])
    with suppress(anydoc.ConvertError):
        return " ".join("".join(Writer(anydoc.to_document(whole), Embedded(None)).pages()).split())
    return ""


def _created_at(head: bytes) -> datetime | None:
    """The time at which an RTF file was created, as the clock of its author showed it."""
    if found := _CREATED.search(head):
        year, month, day, hour, minute = (int(part or 0) for part in found.groups())
        with suppress(ValueError):
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
    return None
