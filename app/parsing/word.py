"""Reads DOCX: headings, paragraphs, lists, tables and notes in their order, and by OCR the text in its pictures."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import mammoth
from mammoth import html

from app.parsing import archives, html_text, pictures
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.pictures import Embedded

STYLES = "p[style-name='Title'] => h1:fresh"
"""Styles beyond those that the library converts: headings, lists, tables and notes."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time."""
    embedded = Embedded(file.recognise)
    converted = mammoth.convert_to_html(io.BytesIO(file.raw), convert_image=partial(_image, embedded), style_map=STYLES)
    text = html_text.markdown(converted.value)
    if not text.strip():
        raise pictures.blank("The document contains no text.", file.recognise)
    title, metadata, created_at = archives.core_properties(file.raw)
    yield ExtractedDocument(
        text, title=title, metadata=metadata, created_at=created_at, warnings=tuple(embedded.warnings)
    )


def _image(embedded: Embedded, image: Any) -> list[Any]:
    """The text on a picture as a paragraph of its own."""
    with image.open() as opened:
        text = embedded.text(opened.read())
    return [html.element("p", {}, [html.text(part)]) for part in text.split("\n\n") if part]
