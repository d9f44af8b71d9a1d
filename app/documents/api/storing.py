"""Stores the documents of a request, also of a page that is fetched, and sets the status of its response."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.concurrency.limiter import Turn
from app.concurrency.stage_times import StageTimes
from app.documents.api import document_bodies
from app.documents.api.document_bodies import Item
from app.documents.api.document_models import (
    DocumentFailure,
    DocumentResult,
    DocumentResultList,
    PageInput,
    RefusedItem,
)
from app.documents.files import file_reading, web_pages
from app.documents.files.file_reading import NamedFile
from app.documents.files.web_pages import FetchedPage
from app.documents.storing import ingest
from app.documents.types import IngestResult, Upload
from app.services import Services
from app.text.words import cleaning


async def add_page(
    page: PageInput, request: Request, response: Response, user_id: str, use: Services
) -> DocumentResultList:
    """Fetch a page and store its documents.

    Raises BadRequest naming the field, `fetch_not_allowed`, `site_unavailable`; then nothing is stored.
    """
    async with AsyncExitStack() as stack:
        turn: Turn = request.state.upload_turn
        async with turn.released():  # the place among the fetches is kept until the page is stored, as is its content
            await stack.enter_async_context(request.app.state.fetches.turn(user_id))
            fetched = await web_pages.fetch(page.url, use, allowed=use.fetch_hosts)
        try:
            items = document_bodies.apply(await _read(fetched, page, request, stack), page)
            return await add_several(_each(items), request, response, user_id, use)
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
        return await document_bodies.read(file, reader)


async def _each(items: Sequence[Upload | RefusedItem]) -> AsyncIterator[Item]:
    for item in items:
        yield 0, item


def _field(error: errors.BadRequest) -> str:
    """The field of the request that an error is about: the address, unless it names another one."""
    named = (error.field or "").rpartition("].")[2]
    return named if named in PageInput.model_fields else "url"


async def add_one(upload: Upload, request: Request, response: Response, user_id: str, use: Services) -> DocumentResult:
    """Store the document of a request."""
    stored = await ingest.store_one(upload, user_id, use, ingest.IN_REQUEST)
    response.status_code = 200 if stored.status == "unchanged" else 201
    return result(stored, request, response)


def result(stored: IngestResult, request: Request, response: Response) -> DocumentResult:
    """The result of storing one document; that of a queued one is 202 with the path of its job."""
    request.state.stored = [stored]
    if stored.job_id is not None:
        response.status_code = 202
        response.headers["Location"] = f"/api/rag/jobs/{stored.job_id}"
    return DocumentResult.of(stored)


async def add_several(
    items: AsyncIterable[Item],
    request: Request,
    response: Response,
    user_id: str,
    use: Services,
) -> DocumentResultList:
    """Store each document and list the error of each that failed.

    Raises BadRequest if all failed, OutsideOfKey if they did because the key may not store them.
    """
    stored: list[DocumentResult] = []
    failed: list[DocumentFailure] = []
    request.state.stored = done = []
    indices: dict[int, int] = {}

    async def readable() -> AsyncIterator[Upload]:
        async for index, item in items:
            if isinstance(item, RefusedItem):
                failed.append(DocumentFailure.of(index, item))
            else:
                indices[id(item)] = index
                yield item

    async for outcome in ingest.store(readable(), user_id, use, ingest.IN_REQUEST):
        index = indices.pop(id(outcome.upload))
        if outcome.stored is not None:
            done.append(outcome.stored)
            stored.append(DocumentResult.of(outcome.stored))
        elif outcome.error is not None:
            failed.append(DocumentFailure.of(index, RefusedItem(outcome.error, outcome.upload.uri)))
    request.state.refused = len(failed)
    failed.sort(key=lambda refused: refused.index)
    if not stored:
        raise _refuse(failed, "files" if document_bodies.is_multipart(request) else "")
    statuses = ("added", "replaced", "unchanged", "queued")
    count = {status: sum(model.status == status for model in stored) for status in statuses}
    response.status_code = 202 if count["queued"] else 201 if count["added"] or count["replaced"] else 200
    return DocumentResultList(documents=stored, failed=failed, **count)


def server_timing(times: StageTimes) -> str:
    """The stages of storing documents as the value of a header Server-Timing (https://www.w3.org/TR/server-timing/)."""
    return ", ".join(f"{stage};dur={1000 * seconds:.1f}" for stage, seconds in sorted(times.so_far().items()))


def _refuse(failed: Sequence[DocumentFailure], form: str) -> errors.StepwellError:
    """The error of a request of which no document is stored: that of its first document."""
    first = failed[0]
    item = f"{form}[{first.index}]"
    field = f"{item}.{first.field}" if first.field else item
    if {failure.code for failure in failed} == {errors.OutsideOfKey.code}:
        return errors.OutsideOfKey(first.detail, field=field)
    refused = errors.BadRequest(first.detail, field=field)
    refused.code = first.code
    return refused
