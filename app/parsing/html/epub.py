"""Reads EPUB: the chapters in their order, under the title of the book."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from app.errors import UnreadableFile
from app.parsing import author_and_time, zip_packages
from app.parsing.html import html_text
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PICTURES = (".svg", ".jpg", ".jpeg", ".png", ".gif", ".webp")


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The book with its title, author, language and date. Raises UnreadableFile if it has copy protection."""
    with zip_packages.open_archive(file.raw) as archive:
        package, chapters = _open(archive)
        if _ENCRYPTION in archive.namelist():  # often only fonts are encrypted, without copy protection
            root = zip_packages.xml(archive.read(_ENCRYPTION))
            encrypted = {unquote(reference.get("URI", "")) for reference in root.iter("{*}CipherReference")}
            if encrypted & set(chapters):
                raise UnreadableFile("encrypted", "The book has copy protection and cannot be read.")
        pages, left_out = _pages(archive, chapters)
    texts = []
    for page in pages:
        text, beside = html_text.chapter(page)
        texts.append(text)
        left_out += beside
    text = "\n\n".join(filter(None, texts))
    if not text:
        raise UnreadableFile("no_text", "The book contains no text.")
    title, language, date = (zip_packages.words_of(package, name) for name in ("title", "language", "date"))
    yield ExtractedDocument(
        text,
        title=title,
        metadata=author_and_time.authors(zip_packages.texts_of(package, "creator")),
        language=language or None,
        created_at=author_and_time.parse_moment(date),
        left_out=tuple(left_out),
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text nodes of each chapter that an e-book reader shows."""
    with zip_packages.open_archive(raw) as archive:
        _package, chapters = _open(archive)
        pages, _left_out = _pages(archive, chapters)
    for number, page in enumerate(pages, 1):
        yield f"chapter {number}", html_text.show(page)


def _open(archive: zipfile.ZipFile) -> tuple[Any, list[str]]:
    """The description of a book, and the names of its chapters, each once."""
    place = next(zip_packages.xml(archive.read(_CONTAINER)).iter("{*}rootfile")).get("full-path")
    package = zip_packages.xml(archive.read(place))
    items = {item.get("id"): item for item in package.iter("{*}item")}
    chapters = []
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and "nav" not in (item.get("properties") or "").split():
            name = unquote(item.get("href", "").partition("#")[0])
            chapters.append(posixpath.normpath(posixpath.join(posixpath.dirname(place), name)))
    return package, list(dict.fromkeys(chapters))


def _pages(archive: zipfile.ZipFile, chapters: Sequence[str]) -> tuple[list[str], list[LeftOut]]:
    """The HTML of the chapters, and the chapters that are missing from the file or are pictures."""
    present = set(archive.namelist())
    missing = [LeftOut("chapters that are not in the file", where=name) for name in chapters if name not in present]
    pictures = [LeftOut("chapters that are pictures", where=name) for name in chapters if name.endswith(_PICTURES)]
    pages = [name for name in chapters if name in present and not name.endswith(_PICTURES)]
    return [html_text.decode(archive.read(name)).text for name in pages], missing + pictures
