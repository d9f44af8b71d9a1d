"""Stores the pages and files that `stepwell ingest` is given by their addresses."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from app import errors
from app.cli.documents.ingest_report import Summary
from app.pipelines.documents import file_reading, ingest, picture_lines, web_pages
from app.pipelines.documents.file_reading import NamedFile, UnreadMember
from app.pipelines.documents.web_pages import FetchedPage
from app.pipelines.running.services import Services
from app.shapes import ANY_HOST, Upload

_ADDRESS = re.compile(r"https?://", re.I)


def is_address(given: str) -> bool:
    """Whether an argument is the address of a page and no path."""
    return _ADDRESS.match(given) is not None


async def store(
    addresses: Sequence[str], text_field: str | None, summary: Summary, user_id: str, services: Services
) -> None:
    """Fetches and stores one page after the other; records those that fail."""
    for address in addresses:
        try:
            fetched = await web_pages.fetch(address, {"text_field": text_field}, user_id, services, allowed=ANY_HOST)
            if isinstance(fetched, FetchedPage):
                await _store(fetched, text_field, summary, user_id, services)
            else:
                summary.store(Upload("", uri=fetched.uri), fetched)
        except (errors.BadRequest, errors.SiteUnavailable) as error:
            summary.fail(address, error.message)


async def _store(page: FetchedPage, text_field: str | None, summary: Summary, user_id: str, services: Services) -> None:
    """Stores the documents of a page. Raises BadRequest."""
    summary.note_page(page.uri, len(page.raw), file_reading.format_name(page.raw[: file_reading.HEAD], page.name))
    file = NamedFile(page.raw, page.name, uri=page.uri, text_field=text_field)
    async with aclosing(_uploads(file, summary, user_id, services)) as uploads:
        async for outcome in ingest.many(uploads, user_id, services):
            if outcome.stored is not None:
                summary.store(outcome.upload, outcome.stored)
                await web_pages.note(page, outcome.stored, user_id, services)
            elif outcome.error is not None:
                summary.refuse(outcome.upload, outcome.error.message)


async def _uploads(file: NamedFile, summary: Summary, user_id: str, services: Services) -> AsyncGenerator[Upload, None]:
    recognise = picture_lines.recogniser(user_id, services)
    opened = file_reading.opened(services.parse_limits, recognise=recognise)
    async with opened as reader, aclosing(reader.uploads(file)) as found:
        async for one in found:
            if isinstance(one, UnreadMember):
                summary.leave_out(file.uri or file.name, one)
            else:
                yield one
