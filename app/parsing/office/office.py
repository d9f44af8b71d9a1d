"""Reads DOCX, PPTX, ODT, ODP, and DOC and PPT of Office before 2007; a slide is a page."""

from __future__ import annotations

from collections.abc import Iterator

import anydoc

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.office import office_parts
from app.parsing.office.blocks import Writer
from app.parsing.office.office_parts import Package
from app.parsing.pages import pictures
from app.parsing.pages.pictures import Embedded

content = office_parts.content


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author, language and creation time. Raises UnreadableFile.

    The title of a presentation is that of its first slide, because its own is often that of the template.
    """
    package = office_parts.prepare(file.raw)
    embedded = Embedded(file.recognise)
    writer = Writer(_parse(package), embedded)
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


def _parse(package: Package) -> anydoc.Document:
    try:
        return anydoc.to_document(package.raw)
    except anydoc.EncryptedError as error:
        raise UnreadableFile("encrypted", "The file is protected by a password: save it without one.") from error
    except anydoc.ResourceLimitError as error:
        raise UnreadableFile("parse_limit", "The file unpacks to more than is allowed.") from error
    except anydoc.ConvertError as error:
        raise UnreadableFile("damaged", "The file is damaged or incomplete: save it again.") from error


def _title(slide: str) -> str:
    first = slide.partition("\n")[0]
    return first.removeprefix("## ") if first.startswith("## ") else ""
