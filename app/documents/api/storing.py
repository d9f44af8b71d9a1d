"""Stores the documents of a request and sets the status of its response."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence

from starlette.requests import Request
from starlette.responses import Response

from app import errors
from app.concurrency.stage_times import StageTimes
from app.documents.api import uploads
from app.documents.api.document_models import DocumentFailure, DocumentResult, DocumentResultList, RefusedItem
from app.documents.api.uploads import Item
from app.documents.storing import ingest
from app.documents.types import IngestResult, Upload
from app.services import Services


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
        raise _refuse(failed, "files" if uploads.is_multipart(request) else "")
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
