"""Serves the endpoint that deletes the documents that pass filters."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Request
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.database.filter_types import Filters
from app.documents import selections
from app.documents.api.document_models import DocumentDeletion
from app.documents.types import RowCounts
from app.http import auth, bodies, problems
from app.http.responses import Response
from app.requests import field_types
from app.requests.filter_models import SearchFilters


class DocumentSelection(field_types.WireModel):
    """Selects documents by the filters of a search, or all of them."""

    every: field_types.Flag = Field(
        False, alias="all", description="true: all of the user's documents; then without filters."
    )
    filters: SearchFilters | None = Field(
        None,
        validate_default=True,
        description="Conditions that the documents must meet; at least one, unless `all` is true.",
    )
    dry_run: field_types.Flag = Field(False, description="true: count the documents and change nothing.")

    @field_validator("filters")
    @classmethod
    def _selects(cls, filters: SearchFilters | None, others: ValidationInfo) -> SearchFilters | None:
        filtered = filters is not None and bool(filters.shape())
        every = others.data.get("every", True)  # absent if it is invalid, which is reported already
        if not filtered and not every:
            raise PydanticCustomError(
                "no_selection", "Must have at least one condition; `all: true` selects every document."
            )
        if filtered and others.data.get("every"):
            raise PydanticCustomError("two_selections", "Send either `filters` or `all: true`.")
        return filters

    def shape(self) -> Filters:
        """The filters as a core type. Filters without a condition select every document."""
        return Filters() if self.filters is None else self.filters.shape()


class RowNumbers(Response):
    """Numbers of rows that belong to documents."""

    documents: int = Field(description="Number of documents.")
    chunks: int = Field(description="Number of chunks.")
    vectors: int = Field(description="Number of vectors.")


class DocumentsDeletion(DocumentDeletion):
    """The rows that a deletion of several documents removed, or would remove."""

    dry_run: bool = Field(description="Whether the documents were only counted.")
    matched: RowNumbers | None = Field(None, description="With `dry_run`: what would be deleted; else null.")


router = bodies.router("documents")
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
        "value": {"filters": {"metadata": {"status": "expired"}, "created_before": "2020-01-01T00:00:00Z"}},
    },
}


@router.post("/documents/delete", summary="Delete documents by filter", responses=problems.responses(413, 415, 507))
async def delete_documents(
    selected: Annotated[DocumentSelection, Body(openapi_examples=_DELETIONS)],
    request: Request,
    user_id: auth.Writer,
    use: auth.Use,
) -> DocumentsDeletion:
    """Delete the documents that pass the filters of a search.

    Documents are deleted in short transactions, so other writes continue. An interrupted request has deleted some of
    them and may be sent again. Jobs that would store a document that passes the filters are cancelled.
    """
    if selected.dry_run:
        auth.require_search(request)
        matched = await selections.count(selected.shape(), user_id, db=use.db)
        return DocumentsDeletion.of(RowCounts(), dry_run=True, matched=matched)
    deleted = await selections.delete(selected.shape(), user_id, db=use.db, actor=auth.actor(request))
    return DocumentsDeletion.of(deleted, dry_run=False, matched=None)
