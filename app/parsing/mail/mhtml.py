"""Reads MHTML, pages that a browser saved with all their files: the main text of the page and of its frames."""

from __future__ import annotations

import email
from collections.abc import Iterator
from dataclasses import replace

from app.errors import UnreadableFile
from app.parsing.html import html_text
from app.parsing.mail import mail, mail_parts
from app.parsing.types import ExtractedDocument, InputFile


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The page with its title, author, language and date, and the texts of its frames below it."""
    pages = [html_text.page(html) for html in _pages(file.raw) if html_text.show(html).strip()]
    if not pages:
        raise UnreadableFile("no_text", "The file contains no page with text.")
    title = pages[0].title or mail_parts.header(mail.parse(file.raw), "subject")
    yield replace(
        pages[0],
        text="\n\n".join(page.text for page in pages),
        title=title,
        left_out=tuple(left for one in pages for left in one.left_out),
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text nodes of the page and of its frames."""
    for html in _pages(raw):
        yield "", html_text.show(html)


def _pages(raw: bytes) -> Iterator[str]:
    """The HTML of the page, which is the first, and of its frames."""
    for part in email.message_from_bytes(raw).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml") and not part.is_multipart():
            yield mail_parts.decode(part).text
