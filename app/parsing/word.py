"""Reads DOCX: headings, paragraphs, lists, tables and notes in their order."""

from __future__ import annotations

import io
from collections.abc import Iterator

import mammoth

from app.errors import UnreadableFile
from app.parsing import archives, html_text
from app.parsing.files import InputFile
from app.shapes import ExtractedDocument

STYLES = "p[style-name='Title'] => h1:fresh"
"""Styles beyond those that the library converts: headings, lists, tables and notes."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time."""
    no_image = mammoth.images.img_element(lambda _image: {})
    converted = mammoth.convert_to_html(io.BytesIO(file.raw), convert_image=no_image, style_map=STYLES)
    text = html_text.markdown(converted.value)
    if not text.strip():
        raise UnreadableFile("no_text", "The document contains no text; text in images is not read.")
    title, metadata, created_at = archives.core_properties(file.raw)
    yield ExtractedDocument(text, title=title, metadata=metadata, created_at=created_at)
