"""Reads ODT and ODP: headings, paragraphs, lists, tables and notes; a slide counts as a page."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from lxml import etree

from app.errors import UnreadableFile
from app.parsing import archives, markup
from app.parsing.files import ExtractedDocument, InputFile

_CONTENT, _META, _MANIFEST = "content.xml", "meta.xml", "META-INF/manifest.xml"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_LEFT_OUT = frozenset(
    {"annotation", "annotation-end", "change-start", "forms", "sequence-decls", "settings", "table-of-content"}
    | {
        "tracked-changes",
        "variable-decls",
        "desc",
        "thumbnail",
        "page-thumbnail",
        "ruby-text",
        "object",
        "event-listeners",
    }
)
"""Elements without text of the document: comments, deleted text, forms, and indexes that repeat the headings."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author, language and creation time. Raises UnreadableFile for an encrypted one."""
    with archives.opened(file.raw) as archive:
        names = set(archive.namelist())
        _check_encryption(archive, names)
        content = archives.xml(archive.read(_CONTENT))
        properties = archives.xml(archive.read(_META)) if _META in names else etree.Element("none")
    slides = list(content.iter("{*}page"))
    texts = ["\n\n".join(_slide(slide)) for slide in slides] or ["\n\n".join(_blocks(_body(content), 0))]
    if not any(texts):
        raise UnreadableFile("no_text", "The document contains no text; text in images is not read.")
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 2)
    author = _property(properties, "initial-creator") or _property(properties, "creator")
    yield ExtractedDocument(
        "\n\n".join(texts),
        title=_property(properties, "title"),
        metadata={"author": author} if author else {},
        language=_property(properties, "language") or None,
        created_at=_created(properties),
        page_starts=tuple(starts[:-1]) if slides else (),
    )


def _check_encryption(archive: zipfile.ZipFile, names: set[str]) -> None:
    if _MANIFEST in names and next(archives.xml(archive.read(_MANIFEST)).iter("{*}encryption-data"), None) is not None:
        raise UnreadableFile("encrypted", "The file is protected by a password: save it without one.")


def _body(content: Any) -> Any:
    body = next(content.iter("{*}body"), None)
    return content if body is None else body


def _slide(slide: Any) -> Iterator[str]:
    """The title of a slide, its other texts in the order of the file, and its notes."""
    frames = list(slide)
    titles = [frame for frame in frames if frame.get(f"{_PRESENTATION}class") == "title"]
    for title in titles[:1]:
        if heading := markup.heading(2, _inline(title)):
            yield heading
    for frame in frames:
        if frame not in titles[:1]:
            yield from _blocks_of(frame, 0)


def _blocks(parent: Any, depth: int) -> Iterator[str]:
    for element in parent:
        yield from _blocks_of(element, depth)


def _blocks_of(element: Any, depth: int) -> Iterator[str]:
    """The blocks of an element within `depth` lists."""
    name = _name(element)
    if not name or name in _LEFT_OUT:
        return
    if name == "h":
        level = element.get(f"{_TEXT}outline-level", "1")
        blocks = [markup.heading(int(level) if level.isdecimal() else 1, _inline(element))]
    elif name == "p":
        blocks = [_paragraph(_inline(element), depth)]
    elif name == "table":
        blocks = [markup.table([[_inline(cell) for cell in row] for row in _rows(element)])]
    else:
        yield from _blocks(element, depth + (name == "list"))
        return
    yield from (block for block in blocks if block)


def _rows(table: Any) -> Iterator[Any]:
    """The rows of a table, those in groups included."""
    for child in table:
        if _name(child) == "table-row":
            yield child
        elif _name(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(child)


def _paragraph(text: str, depth: int) -> str:
    """A paragraph; one in a list is an item of it."""
    if depth == 0:
        return markup.paragraph(text)
    words = " ".join(text.split())
    return f"{'  ' * (depth - 1)}- {words}" if words else ""


def _inline(element: Any) -> str:
    """The text of an element and of all elements in it."""
    return "".join(_pieces(element)).strip()


def _pieces(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = _name(child)
        if name in ("s", "tab"):
            yield " "
        elif name == "line-break":
            yield "\n"
        elif name == "note":
            yield from (" (", *(" ".join(_inline(body).split()) for body in child.iter(f"{_TEXT}note-body")), ")")
        elif name and name not in _LEFT_OUT:
            yield from _pieces(child)
            if name in ("p", "h"):
                yield "\n"
        yield child.tail or ""


def _name(element: Any) -> str:
    """The name of an element without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _property(properties: Any, name: str) -> str:
    found = next(properties.iter(f"{{*}}{name}"), None)
    return " ".join((found.text or "").split()) if found is not None else ""


def _created(properties: Any) -> datetime | None:
    return archives.moment(_property(properties, "creation-date"))
