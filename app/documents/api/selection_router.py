"""Serves the endpoint that deletes documents by filter."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from app.documents import selections
from app.documents.api.selection_models import DocumentsDeletion, DocumentSelection
from app.http import auth, bodies, problems

router = APIRouter(
    prefix="/api/rag", tags=["documents"], route_class=bodies.StrictRoute, responses=problems.AUTHENTICATED
)
COUNTED: Any = {
    "counted": {
        "summary": "Count the documents of a team",
        "value": {"filters": {"metadata": {"team": "Front Office"}}, "dry_run": True},
    }
}
_DELETIONS: Any = {
    **COUNTED,
    "expired": {
        "summary": "Delete what has expired",
        "value": {"filters": {"metadata": {"status": "expired"}, "created_before": "2020-01-01"}},
    },
}


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
    actor = auth.actor(request)
    return DocumentsDeletion.done(await selections.delete(selected.shape(), user_id, db=use.db, actor=actor))
