"""Reads PPTX: the title, texts, tables, notes and by OCR the pictures of each slide, which counts as a page."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE

from app.parsing import archives, markup, pictures
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.pictures import Embedded


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The presentation with its author and creation time; its title is that of its first slide, else its own.

    The property is often that of the template.
    """
    slides = list(pptx.Presentation(io.BytesIO(file.raw)).slides)
    embedded = Embedded(file.recognise)
    texts = [_text(slide, embedded) for slide in slides]
    if not any(texts):
        raise pictures.blank("The slides contain no text.", file.recognise)
    title, metadata, created_at = archives.core_properties(file.raw)
    yield ExtractedDocument(
        "\n\n".join(texts),
        title=_title(slides[0]) or title,
        metadata=metadata,
        created_at=created_at,
        page_starts=pictures.page_starts(texts),
        warnings=tuple(embedded.warnings),
    )


def _text(slide: Any, embedded: Embedded) -> str:
    """The Markdown of a slide."""
    title, heading = slide.shapes.title, _title(slide)
    others = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    blocks = [f"## {heading}" if heading else "", *_blocks(others, embedded)]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        blocks.append(slide.notes_slide.notes_text_frame.text)
    return "\n\n".join(block.strip() for block in blocks if block.strip())


def _title(slide: Any) -> str:
    title = slide.shapes.title
    return " ".join(title.text_frame.text.split()) if title is not None else ""


def _blocks(shapes: Iterable[Any], embedded: Embedded) -> Iterator[str]:
    """The texts, tables and pictures of shapes from top to bottom, those in groups included."""
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _blocks(shape.shapes, embedded)
        elif getattr(shape, "has_table", False):
            yield markup.table([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif shape.shape_type == MSO_SHAPE_TYPE.PICTURE:
            yield _picture(shape, embedded)
        elif shape.has_text_frame:
            yield "\n".join(_line(paragraph) for paragraph in shape.text_frame.paragraphs if paragraph.text.strip())


def _picture(shape: Any, embedded: Embedded) -> str:
    """The text on a picture; empty for one that is linked and not in the file."""
    try:
        return embedded.text(shape.image.blob)
    except (KeyError, ValueError):
        return ""


def _line(paragraph: Any) -> str:
    """A paragraph; one that is indented is an item of a list."""
    text = " ".join(paragraph.text.split())
    return f"{'  ' * (paragraph.level - 1)}- {text}" if paragraph.level else text
