"""Serves the endpoints that delete documents, or cut them again, by filter."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from app.documents import selections
from app.documents.api.selection_models import DocumentsDeletion, DocumentSelection, DocumentsReindex
from app.http.authentication import auditing, auth
from app.http.bodies import bodies
from app.http.problems import problems
from app.maintenance import reindex

router = APIRouter(
    prefix="/api/rag", tags=["documents"], route_class=bodies.StrictRoute, responses=problems.AUTHENTICATED
)
_COUNTED: Any = {
    "counted": {
        "summary": "Count the documents of a team",
        "value": {"filters": {"metadata": {"team": "Front Office"}}, "dry_run": True},
    }
}
_DELETIONS: Any = {
    **_COUNTED,
    "expired": {
        "summary": "Delete what has expired",
        "value": {"filters": {"metadata": {"status": "expired"}, "created_before": "2020-01-01"}},
    },
}
_LOCATION = {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}}


@router.post(
    "/documents/delete",
    operation_id="delete_documents",
    summary="Delete documents by filter",
    responses=problems.responses(413, 415, 507),
)
async def delete(
    selected: Annotated[DocumentSelection, Body(openapi_examples=_DELETIONS)],
    request: Request,
    user_id: auth.Writer,
    use: auth.Use,
) -> DocumentsDeletion:
    """Delete the documents that pass the filters of a search.

    Documents are deleted in short transactions, and other writes go on meanwhile. A request that is interrupted has
    deleted some of them, and may be sent again. Jobs that would store a document that passes are cancelled.
    """
    if selected.dry_run:
        auth.require_search(request)
        return DocumentsDeletion.counted(await selections.count(selected.shape(), user_id, db=use.db))
    actor = auditing.actor(request)
    return DocumentsDeletion.done(await selections.delete(selected.shape(), user_id, db=use.db, actor=actor))


@router.post(
    "/documents/reindex",
    operation_id="reindex_documents",
    summary="Cut documents again by filter",
    responses={
        **problems.responses(413, 415, 507),
        200: {"description": "The documents were counted, or none passes the filters."},
        202: {
            "model": DocumentsReindex,
            "description": "A job compares the documents.",
            "headers": _LOCATION,
        },
    },
)
async def reindex_selected(
    selected: Annotated[DocumentSelection, Body(openapi_examples=_COUNTED)],
    response: Response,
    user_id: auth.Changer,
    use: auth.Use,
) -> DocumentsReindex:
    """Compare documents with the current options of cleaning and chunking, and cut, embed and index those that differ.

    A job does the work; readers find the old chunks of a document or the new ones.
    """
    if selected.dry_run:
        counts = await selections.count(selected.shape(), user_id, db=use.db)
        return DocumentsReindex(dry_run=True, documents=counts.documents, chunks=counts.chunks)
    job_id, total = await reindex.request(selected.shape(), user_id, db=use.db)
    if job_id is not None:
        response.status_code = 202
        response.headers["Location"] = f"/api/rag/jobs/{job_id}"
    return DocumentsReindex(dry_run=False, documents=total, job_id=job_id)
