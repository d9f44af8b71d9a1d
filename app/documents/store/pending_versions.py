"""Finds and cancels the jobs that are to store a version of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app import errors
from app.database import filters as conditions
from app.database import sql
from app.database.filter_types import Filters
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.documents.store import key_bounds
from app.jobs.store import jobs

_s = tables.staged_documents.c


@dataclass(frozen=True, slots=True)
class PendingVersion:
    """The job that is to store a version of a document, the document's id and the hashes of that version."""

    job_id: UUID
    document_id: UUID
    content_hash: bytes
    attributes_hash: bytes


async def of(
    db: Reading, *, identities: Sequence[bytes] = (), document_ids: Sequence[UUID] = ()
) -> list[PendingVersion]:
    """The versions that jobs are to store of the documents with these identities or ids."""
    if not (identities or document_ids):
        return []
    same = (
        _s.identity == sa.any_(sa.literal(list(identities), sa.ARRAY(sa.LargeBinary))),
        _s.document_id == sa.any_(sa.literal(list(document_ids), sa.ARRAY(sa.Uuid))),
    )
    columns = (_s.job_id, _s.document_id, _s.content_hash, _s.attributes_hash)
    query = sa.select(*columns).where(_s.user_id == db.user_id, sa.or_(*same))
    found = [PendingVersion(*row) for row in await db.execute(query)]
    are_open = await jobs.open_among(db, [version.job_id for version in found])
    return [version for version in found if version.job_id in are_open]


def check_none(pending: Sequence[PendingVersion]) -> None:
    """Raises Conflict if there is a version that a job is to store."""
    if pending:
        raise errors.Conflict("A new version of this document is being stored: wait for its job, or cancel it.")


async def supersede(db: Writing, *, identities: Sequence[bytes] = (), document_ids: Sequence[UUID] = ()) -> list[UUID]:
    """Cancel the jobs that store a version of these documents; returns the ids in them. Under the user's lock."""
    superseded = await of(db, identities=identities, document_ids=document_ids)
    await key_bounds.check_replaced(db, [], [version.job_id for version in superseded])
    for version in superseded:
        await jobs.cancel(db, version.job_id)
    return [version.document_id for version in superseded]


async def cancel_of_source(db: Writing, source_id: UUID) -> None:
    """Cancel the jobs that store documents of a source. Under the user's lock."""
    query = sa.select(_s.job_id).where(_s.user_id == db.user_id, _s.source_id == source_id)
    for job_id in await jobs.open_among(db, list(await db.scalars(query))):
        await jobs.cancel(db, job_id)


async def cancel_selected(db: Writing, filters: Filters) -> None:
    """Cancel the jobs that store documents which will pass the filters. Under the user's lock."""
    staged = await db.scalars(sa.select(_s.job_id).where(_s.user_id == db.user_id))
    are_open = await jobs.open_among(db, list(staged))
    filtering = conditions.binds(conditions.visible(db, filters))
    binds = {"user_id": db.user_id, "job_ids": list(are_open), "created": list(are_open.values()), **filtering}
    for job_id in list(await db.scalars(sql.statement("staged_by_filter", *filtering), binds)):
        await jobs.cancel(db, job_id)
