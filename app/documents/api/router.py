"""Serves the endpoints for documents, their chunks and statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Body, Query, Request, Response
from typing_extensions import TypeAliasType

from app import errors, limits
from app.concurrency.limiter import Turn
from app.database.filter_types import ORDERED_CHARACTERS, DocumentFilter
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.api import document_bodies
from app.documents.api import document_examples as examples
from app.documents.api.document_bodies import Item
from app.documents.api.document_models import (
    ChunkPage,
    DocumentChange,
    DocumentDeletion,
    DocumentFailure,
    DocumentInput,
    DocumentPage,
    DocumentResult,
    DocumentResultList,
    PageInput,
    RefusedItem,
    StorageStats,
    StoredChunk,
    StoredDocument,
)
from app.documents.files import web_pages
from app.documents.storing import ingest
from app.documents.types import Document, IngestResult, Upload
from app.enums import DocumentOrder
from app.http import admission, auth, bodies, parameters, problems, responses
from app.requests import cursors
from app.services import Services
from app.text.words import cleaning

router = bodies.router("documents", bodies.DocumentsRoute)
AddedDocuments = TypeAliasType("AddedDocuments", DocumentResult | DocumentResultList)


@router.post(
    "/documents",
    summary="Add documents",
    status_code=201,
    responses={
        **problems.WRITE,
        200: {"model": AddedDocuments, "description": "Nothing was added or replaced."},
        201: {"description": "At least one document was added or replaced."},
        **examples.QUEUED,
    },
    response_model=AddedDocuments,
    openapi_extra=examples.BODY,
)
async def add_documents(
    request: Request, response: Response, user_id: auth.Writer, use: auth.Use
) -> DocumentResult | DocumentResultList:
    """Store a document, a list of documents, files of a form, or a page. Searches find them after the response.

    A document of more than 1,000,000 characters or 3,000 chunks is queued (202): a job stores it, and `Location` names
    the job. If the documents of a list or a form have more than 3,000 chunks together, the rest is queued too.
    A document with a stored URI replaces that document atomically; with the same text nothing changes (200). The URI of
    a file is its name. Documents of a list or a form are stored or refused independently (see `failed`); if none can be
    stored, the status is 422, or 403 if all are outside of the key. A `url` is fetched and stored as a file with that
    URI.
    """
    async with document_bodies.opened(request, use) as uploaded:
        # Work in a thread is not cancelled at once but ends at its next check; nothing is stored then.
        work = partial(_add, uploaded, request, response, user_id, use)
        return await admission.cancel_on_disconnect(request, work)


@router.post(
    "/documents/upload",
    summary="Upload files",
    status_code=201,
    responses={
        **problems.WRITE,
        200: {"model": DocumentResultList, "description": "Nothing was added or replaced."},
        202: {"model": DocumentResultList, "description": "Jobs store some of them."},
    },
    response_model=DocumentResultList,
    openapi_extra=examples.UPLOAD,
)
async def upload_documents(
    request: Request, response: Response, user_id: auth.Writer, use: auth.Use
) -> DocumentResult | DocumentResultList:
    """Store the documents of files of any supported format, like a form sent to `/documents`."""
    bodies.require(request, document_bodies.FORM)
    return await add_documents(request, response, user_id, use)


async def _add(
    uploaded: Upload | PageInput | AsyncIterable[Item],
    request: Request,
    response: Response,
    user_id: str,
    use: Services,
) -> DocumentResult | DocumentResultList:
    if isinstance(uploaded, PageInput):
        return await _add_page(uploaded, request, response, user_id, use)
    if not isinstance(uploaded, Upload):
        return await _add_several(uploaded, request, response, user_id, use)
    stored = await ingest.store_one(uploaded, user_id, use, ingest.IN_REQUEST)
    response.status_code = 200 if stored.status == "unchanged" else 201
    return _result(stored, request, response)


async def _add_page(
    page: PageInput, request: Request, response: Response, user_id: str, use: Services
) -> DocumentResultList:
    """Fetch a page and store its documents.

    Raises BadRequest with the field, `fetch_not_allowed`, `site_unavailable`; then nothing is stored.
    """
    async with AsyncExitStack() as stack:
        turn: Turn = request.state.upload_turn
        async with turn.released():  # the place among the fetches is kept until the page is stored, as is its content
            await stack.enter_async_context(request.app.state.fetches.turn(user_id))
            fetched = await web_pages.fetch(page.url, use)
        is_titled = not cleaning.is_blank(page.title or "")
        file = dataclasses.replace(fetched, text_field=page.text_field, titled=is_titled)
        try:
            async with document_bodies.open_reader(request, use) as reader, turn.released():
                found = await document_bodies.read(file, reader)
            items = [(0, item) for item in document_bodies.apply(found, page)]
            return await _add_several(document_bodies.each(items), request, response, user_id, use)
        except errors.BadRequest as error:
            named = (error.field or "").rpartition("].")[2]
            error.field = named if named in PageInput.model_fields else "url"
            raise


def _result(stored: IngestResult, request: Request, response: Response) -> DocumentResult:
    """The result of storing one document. For a queued document it is 202 with the path of the job."""
    request.state.stored = [stored]
    if stored.job_id is not None:
        response.status_code = 202
        response.headers["Location"] = f"/api/rag/jobs/{stored.job_id}"
    return DocumentResult.of(stored)


async def _add_several(
    items: AsyncIterable[Item], request: Request, response: Response, user_id: str, use: Services
) -> DocumentResultList:
    """Store each document, and list the error of each document that failed.

    Raises BadRequest if all failed, or OutsideOfKey if they failed because the key may not store them.
    """
    stored: list[DocumentResult] = []
    failed: list[DocumentFailure] = []
    request.state.stored = done = []
    indices: dict[int, int] = {}

    async def readable() -> AsyncIterator[Upload]:
        async for index, item in items:
            if isinstance(item, RefusedItem):
                failed.append(DocumentFailure.of(item.error, index=index, uri=item.uri, left_out=item.left_out))
            else:
                indices[id(item)] = index
                yield item

    async for outcome in ingest.store(readable(), user_id, use, ingest.IN_REQUEST):
        index = indices.pop(id(outcome.upload))
        if outcome.stored is not None:
            done.append(outcome.stored)
            stored.append(DocumentResult.of(outcome.stored))
        elif outcome.error is not None:
            uri = outcome.upload.uri
            failed.append(DocumentFailure.of(outcome.error, index=index, uri=uri, left_out=None))
    request.state.refused = len(failed)
    failed.sort(key=lambda refused: refused.index)
    if not stored:
        raise _refuse(failed, "files" if document_bodies.is_multipart(request) else "")
    statuses = ("added", "replaced", "unchanged", "queued")
    count = {status: sum(model.status == status for model in stored) for status in statuses}
    response.status_code = 202 if count["queued"] else 201 if count["added"] or count["replaced"] else 200
    return DocumentResultList(documents=stored, failed=failed, **count)


def _refuse(failed: Sequence[DocumentFailure], form: str) -> errors.StepwellError:
    """The error of a request if none of its documents is stored: the error of the first document."""
    first = failed[0]
    item = f"{form}[{first.index}]"
    separator = "." if first.field and not first.field.startswith("[") else ""
    field = f"{item}{separator}{first.field or ''}"
    if {failure.code for failure in failed} == {errors.OutsideOfKey.code}:
        return errors.OutsideOfKey(first.detail, field=field)
    refused = errors.BadRequest(first.detail, field=field)
    refused.code = first.code
    return refused


@router.get("/documents", summary="List documents")
async def list_documents(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    filters: parameters.Filtered,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Documents per page.")] = 50,
    cursor: parameters.Cursor = None,
    uri: Annotated[str | None, Query(max_length=limits.MAX_URI, description="Only the document with this URI.")] = None,
    query: Annotated[
        str | None,
        Query(
            max_length=limits.MAX_TITLE, description="Only documents whose title and URI contain each of these words."
        ),
    ] = None,
    sort: Annotated[
        DocumentOrder, Query(description="Order of the documents; a cursor continues in its own.")
    ] = "newest",
) -> DocumentPage:
    """The user's documents without their text, newest first unless `sort` says otherwise."""
    after = _read_cursor(cursor, sort) if cursor else None
    only = DocumentFilter(uri, tuple((query or "").split()), filters, sort)
    rows = await documents.page(user_id, db=use.db, limit=limit + 1, after=after, only=only)
    shown, more = cursors.cut(rows, limit, lambda one: _cursor_after(one, sort))
    return DocumentPage(documents=[StoredDocument.of(document) for document in shown], next_cursor=more)


def _cursor_after(document: Document, order: DocumentOrder) -> str:
    """The cursor after this document. It names the order, except `newest`."""
    if order == "newest":
        return cursors.make(document.created_at, document.document_id)
    key = {
        "oldest": document.created_at.isoformat(),
        "changed": document.updated_at.isoformat(),
        "title": document.title[:ORDERED_CHARACTERS],
    }[order]
    return cursors.make(f"{order}:{key}", document.document_id)


def _read_cursor(cursor: str, order: DocumentOrder) -> tuple[datetime | str, UUID]:
    """The sort key in the cursor of a listing in this order. Raises `invalid_cursor`."""

    def parse(text: str) -> datetime | str:
        named, _, key = text.partition(":")
        if named != order:
            raise ValueError("another order")
        return cursors.name(key) if order == "title" else cursors.moment(key)

    return cursors.read(cursor, cursors.moment if order == "newest" else parse)


@router.get(
    "/documents/{document_id}",
    summary="Get a document",
    response_model=StoredDocument,
    responses=problems.responses(404),
)
async def get_document(
    document_id: Annotated[UUID, examples.PERSON], user_id: auth.Searcher, use: auth.ReadUse
) -> Response:
    """A document with its cleaned text."""
    document = await documents.get(document_id, user_id, db=use.db)
    return await responses.json(len(document.content or ""), lambda: StoredDocument.of(document))


@router.put(
    "/documents/{document_id}",
    summary="Replace a document",
    responses={**problems.WRITE, **problems.responses(404, 409), **examples.QUEUED},
)
async def replace_document(
    document_id: Annotated[UUID, examples.HOWTO],
    document: Annotated[DocumentInput, Body(openapi_examples=examples.NEW_TEXT)],
    request: Request,
    response: Response,
    user_id: auth.Writer,
    use: auth.Use,
) -> DocumentResult:
    """Replace the content of a document atomically."""
    replaced = partial(ingest.replace, document_id, document.shape(), user_id, use)
    stored = await admission.cancel_on_disconnect(request, replaced)
    return _result(stored, request, response)


@router.patch(
    "/documents/{document_id}",
    summary="Change a document",
    responses={**problems.WRITE, **problems.responses(404, 409), **examples.QUEUED},
)
async def change_document(
    document_id: Annotated[UUID, examples.HOWTO],
    changed: Annotated[DocumentChange, Body(openapi_examples=examples.CHANGES)],
    request: Request,
    response: Response,
    user_id: auth.Changer,
    use: auth.Use,
) -> DocumentResult:
    """Change some fields of a document atomically.

    The text is embedded and indexed again only if the text, the title or the language changes. Links to entities are
    always updated.
    """
    patched = partial(document_patches.apply, document_id, changed.shape(), user_id, use)
    stored = await admission.cancel_on_disconnect(request, patched)
    return _result(stored, request, response)


@router.delete("/documents", summary="Delete the document with a URI", responses=problems.responses(404, 507))
async def delete_document_by_uri(
    uri: Annotated[
        str,
        Query(
            min_length=1,
            max_length=limits.MAX_URI,
            description="URI of the document.",
            openapi_examples={
                "sample": {"summary": "A sample note", "value": "sample/meetings/2025-05-06-vendor-review.md"},
                "unknown": {"summary": "URI that does not exist", "value": "notes/none.md"},
            },
        ),
    ],
    request: Request,
    user_id: auth.Writer,
    use: auth.Use,
) -> DocumentDeletion:
    """Delete the document with this URI, like `DELETE /documents/{document_id}`."""
    deleted = await documents.delete_by_uri(uri, user_id, db=use.db, actor=auth.actor(request))
    return DocumentDeletion.of(deleted)


@router.delete("/documents/{document_id}", summary="Delete a document", responses=problems.responses(404, 507))
async def delete_document(
    document_id: Annotated[UUID, examples.VENDOR], request: Request, user_id: auth.Writer, use: auth.Use
) -> DocumentDeletion:
    """Delete a document with its chunks, vectors, postings and mentions, and return their numbers.

    A job that is storing a version of it is cancelled. If no other version is stored, the numbers are zeros.
    """
    deleted = await documents.delete(document_id, user_id, db=use.db, actor=auth.actor(request))
    return DocumentDeletion.of(deleted)


@router.get(
    "/documents/{document_id}/chunks",
    summary="List a document's chunks",
    response_model=ChunkPage,
    responses=problems.responses(404),
)
async def list_chunks(
    document_id: Annotated[UUID, examples.PERSON],
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=500, description="Chunks per page.")] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1, description="Chunks to skip.")] = 0,
) -> Response:
    """A document's chunks in order."""
    document = await documents.get(document_id, user_id, db=use.db)
    rows = await documents.chunks(document_id, user_id, db=use.db, limit=limit, offset=offset)
    size = sum(200 + len(chunk.content) for chunk in rows)

    def shown() -> ChunkPage:
        return ChunkPage(chunks=[StoredChunk.of(chunk) for chunk in rows], total=document.chunk_count)

    return await responses.json(size, shown)


@router.get("/stats", summary="Get statistics")
async def stats(user_id: auth.Searcher, use: auth.ReadUse) -> StorageStats:
    """Return the numbers of the user's documents and chunks, and the embedding model."""
    return StorageStats.of(await documents.stats(user_id, db=use.db))
