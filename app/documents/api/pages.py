"""Stores the documents of a page or file that is fetched by its address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.concurrency.limiter import Turn
from app.documents.api import storing, uploads
from app.documents.api.document_models import DocumentResultList, PageInput, RefusedItem
from app.documents.api.uploads import Item
from app.documents.files import file_reading, web_pages
from app.documents.files.file_reading import NamedFile
from app.documents.files.web_pages import FetchedPage
from app.documents.types import Upload
from app.services import Services
from app.text.words import cleaning


async def add(page: PageInput, request: Request, response: Response, user_id: str, use: Services) -> DocumentResultList:
    """Fetch a page and store its documents.

    Raises BadRequest naming the field, `fetch_not_allowed`, `site_unavailable`; then nothing is stored.
    """
    async with AsyncExitStack() as stack:
        turn: Turn = request.state.upload_turn
        async with turn.released():  # the place among the fetches is kept until the page is stored, as is its content
            await stack.enter_async_context(request.app.state.fetches.turn(user_id))
            fetched = await web_pages.fetch(page.url, use, allowed=use.fetch_hosts)
        try:
            items = uploads.apply(await _read(fetched, page, request, stack), page)
            return await storing.add_several(_each(items), request, response, user_id, use)
        except errors.BadRequest as error:
            error.field = _field(error)
            raise


async def _read(
    fetched: FetchedPage, page: PageInput, request: Request, stack: AsyncExitStack
) -> Sequence[Upload | file_reading.UnreadMember]:
    """The documents of a page, as those of a file that is sent. Raises BadRequest, `rate_limited`."""
    user_id, services = request.state.caller.user_id, request.app.state.services
    share = stack.enter_context(request.app.state.parse_times.share(user_id, services.parse_limits))
    recognise = file_reading.recogniser(user_id, services)
    reader = await stack.enter_async_context(file_reading.opened(services.parse_limits, share, recognise))
    is_titled = not cleaning.is_blank(page.title or "")
    file = NamedFile(fetched.raw, fetched.name, uri=fetched.uri, text_field=page.text_field, titled=is_titled)
    async with request.state.upload_turn.released():
        return await uploads.read(file, reader)


async def _each(items: Sequence[Upload | RefusedItem]) -> AsyncIterator[Item]:
    for item in items:
        yield 0, item


def _field(error: errors.BadRequest) -> str:
    """The field of the request that an error is about: the address, unless it names another one."""
    named = (error.field or "").rpartition("].")[2]
    return named if named in PageInput.model_fields else "url"
