"""Stores drafts as the documents with their identities, several of a user in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid4

import sqlalchemy as sa

from app import errors
from app.database import sql
from app.database.schema import tables
from app.database.transactions import Writing
from app.database.vectors import VectorValue
from app.documents.store import document_rows, documents, key_bounds, staging
from app.documents.store.document_rows import DocumentWrite
from app.documents.store.documents import StoredVersion
from app.documents.types import DocumentDraft
from app.entities.store.mentions import LinkedNames

_d = tables.documents.c


@dataclass(frozen=True, slots=True)
class PutDocument:
    """What storing a draft has done, with the number of its first chunk unless it is unchanged."""

    draft: DocumentDraft
    document_id: UUID
    status: Literal["added", "replaced", "unchanged"]
    first_no: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where a draft is stored: its document, which may have a version and versions that jobs have staged.

    A new document has the id that follows from its identity, unless one that was replaced under another uri has it.
    """

    document_id: UUID
    stored: StoredVersion | None
    is_staged: bool


async def put(
    db: Writing,
    drafts: Sequence[DocumentDraft],
    *,
    vectors_by_key: Mapping[UUID, VectorValue],
    names_version: int = 0,
    document_id: UUID | None = None,
) -> tuple[list[PutDocument], LinkedNames]:
    """Store drafts with different identities, each replacing the document with its identity; returns one result each.

    With `document_id` a single draft replaces that document. Raises what `targets` raises.

    An identical document is left unchanged; jobs that are to store other versions are cancelled. `vectors_by_key` must
    contain the embedding key of every chunk, and `names_version` is that of `document_rows.write`. Also returns the
    names in the versions that were replaced, which the caller prunes when the new ones are linked.
    """
    first_no = await db.lock(chunks=sum(len(draft.chunks) for draft in drafts))
    found = await targets(db, drafts, document_id=document_id)
    stored = {target.document_id: target.stored for target in found.values() if target.stored}
    if any(target.is_staged for target in found.values()):
        await staging.supersede(db, identities=list(found), document_ids=list(stored))
    done, writes = list[PutDocument](), list[DocumentWrite]()
    for draft in drafts:
        target = found[draft.identity]
        if target.stored is None or not target.stored.same_as(draft):
            writes.append(DocumentWrite(target.document_id, draft, first_no, is_new=target.stored is None))
            status: Literal["added", "replaced"] = "replaced" if target.stored else "added"
            done.append(PutDocument(draft, target.document_id, status, first_no))
            first_no += len(draft.chunks)
        else:
            done.append(PutDocument(draft, target.document_id, "unchanged", 0))
    old = {one.document_id: stored[one.document_id].chunk_count for one in writes if not one.is_new}
    replaced = await document_rows.clear(db, old) if old else LinkedNames()
    await document_rows.write(db, writes, vectors_by_key=vectors_by_key, names_version=names_version)
    return done, replaced


async def targets(
    db: Writing, drafts: Sequence[DocumentDraft], *, document_id: UUID | None = None
) -> dict[bytes, Target]:
    """Where drafts are stored, by their identities; a single draft with `document_id` there. Under the user's lock.

    Raises OutsideOfKey, NotFound if there is no document with this id, and Conflict if another one has the identity.
    """
    new_ids = {draft.identity: draft.new_id(db.user_id) for draft in drafts}
    binds = {"user_id": db.user_id, "identities": list(new_ids), "new_ids": list(new_ids.values())}
    found: dict[bytes, Target] = {}
    for row in await db.execute(sql.statement("targets_of_drafts"), binds):
        if row.document_id is not None:
            stored = StoredVersion(row.document_id, row.content_hash, row.attributes_hash, row.chunk_count)
            found[row.identity] = Target(row.document_id, stored, row.is_staged)
        else:
            new_id = uuid4() if row.is_used else new_ids[row.identity]
            found[row.identity] = Target(new_id, None, row.is_staged)
    if document_id is not None:
        await key_bounds.check_seen(db, [document_id])
    await key_bounds.check_replaced(db, [target.document_id for target in found.values() if target.stored])
    if document_id is not None:
        found = {identity: await _chosen(db, document_id, target.stored) for identity, target in found.items()}
    return found


async def _chosen(db: Writing, document_id: UUID, same: StoredVersion | None) -> Target:
    """This document as the target of a draft, whose identity `same` has."""
    count = sa.select(_d.chunk_count).where(_d.user_id == db.user_id, _d.document_id == document_id)
    if (chunk_count := await db.scalar(count)) is None:
        raise documents.not_found()
    if same is not None and same.document_id != document_id:
        raise errors.Conflict("Another document already has this uri or this content.", field="uri")
    # No draft is the same as a version with another identity.
    return Target(document_id, same or StoredVersion(document_id, b"", b"", chunk_count), is_staged=True)
