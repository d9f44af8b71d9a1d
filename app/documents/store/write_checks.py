"""Checks that a restricted caller writes only documents that pass the caller's filters.

A writing transaction sees all documents of its user, so every function that changes documents calls one of these
checks. They do nothing in a transaction without a restriction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app import errors
from app.database import sql
from app.database.transactions import Writing

_HIDDEN_DOCUMENTS = sql.inline(
    """
    SELECT d.document_id
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.document_id = ANY (:ids::uuid[]) AND jsonb_path_exists(
        d.metadata, :path::jsonpath,
        d.moments || jsonb_build_object('document', d.document_id, 'source', d.source_id, 'uri', d.uri,
                                        'created', extract(epoch FROM d.created_at) * 1000000), true) IS NOT TRUE
    """
)
# A staged document without a creation time counts as created now.
_HIDDEN_STAGED = sql.inline(
    """
    SELECT s.job_id
    FROM stepwell.staged_documents AS s
    WHERE s.user_id = :user_id AND s.job_id = ANY (:ids::uuid[]) AND jsonb_path_exists(
        s.metadata, :path::jsonpath,
        stepwell.moments(s.metadata) || jsonb_build_object(
            'document', s.document_id, 'source', s.source_id, 'uri', s.uri,
            'created', extract(epoch FROM coalesce(s.created_at, now())) * 1000000), true) IS NOT TRUE
    """
)


def not_found() -> errors.NotFound:
    """The error for a document that does not exist for the caller."""
    return errors.NotFound("No such document.")


async def check_seen(db: Writing, document_ids: Sequence[UUID]) -> None:
    """Raises NotFound if a stored document does not pass the filters, because the caller does not see it."""
    if await _hidden(db, _HIDDEN_DOCUMENTS, document_ids):
        raise not_found()


async def check_replaced(db: Writing, document_ids: Sequence[UUID], job_ids: Sequence[UUID] = ()) -> None:
    """Raises OutsideOfKey if a write replaces a stored document, or a job's version, that the caller does not see."""
    if await _hidden(db, _HIDDEN_DOCUMENTS, document_ids) or await _hidden(db, _HIDDEN_STAGED, job_ids):
        raise errors.OutsideOfKey(
            "The uri, or the text of a document without one, belongs to a document outside of this key: choose another."
        )


async def check_written(db: Writing, document_ids: Sequence[UUID] = (), job_ids: Sequence[UUID] = ()) -> None:
    """Raises OutsideOfKey if a document that is written now, or that a job will store, does not pass the filters."""
    if await _hidden(db, _HIDDEN_DOCUMENTS, document_ids) or await _hidden(db, _HIDDEN_STAGED, job_ids):
        raise errors.OutsideOfKey(
            "The document would not pass the filters of this key: send the metadata that they require.",
            field="metadata",
        )


async def _hidden(db: Writing, statement: Any, ids: Sequence[UUID]) -> bool:
    if db.restriction is None or not ids:
        return False
    binds = {"user_id": db.user_id, "ids": list(ids), "path": db.restriction.path}
    return await db.scalar(statement, binds) is not None
