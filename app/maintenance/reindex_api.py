"""Serves the endpoint that cuts documents again by filter."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Body, Response
from pydantic import BaseModel, Field

from app.documents import selections
from app.documents.api.selection_router import COUNTED, DocumentSelection
from app.http import auth, bodies, problems
from app.maintenance import reindex

router = bodies.router("documents")
_LOCATION = {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}}


class DocumentsReindex(BaseModel):
    """The job that compares documents with the current options, or the number of these documents."""

    dry_run: bool = Field(description="Whether the documents were only counted.")
    documents: int = Field(description="Number of documents that pass the filters.")
    chunks: int | None = Field(None, description="With `dry_run`: number of their chunks; else null.")
    job_id: UUID | None = Field(None, description="Job that compares them; null if there is nothing to do.")


@router.post(
    "/documents/reindex",
    summary="Cut documents again by filter",
    responses={
        **problems.responses(413, 415, 507),
        200: {"description": "The documents were counted, or none passes the filters."},
        202: {"model": DocumentsReindex, "description": "A job compares the documents.", "headers": _LOCATION},
    },
)
async def reindex_documents(
    selected: Annotated[DocumentSelection, Body(openapi_examples=COUNTED)],
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
