"""Stores drafts as the documents with their identities, several of a user in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid4

import sqlalchemy as sa

from app.shapes import DocumentDraft
from app.store.connection.transactions import Reading, Writing
from app.store.documents import document_rows, documents, key_bounds, pending_versions
from app.store.documents.document_rows import DocumentWrite, VectorValue
from app.store.documents.documents import StoredVersion
from app.store.entities.mentions import LinkedNames
from app.store.schema import tables

_d = tables.documents.c


@dataclass(frozen=True, slots=True)
class PutDocument:
    """What storing a draft has done, with the number of its first chunk unless it is unchanged.

    `replaced` are the names in the version that it has replaced, which the caller prunes when the new one is linked.
    """

    draft: DocumentDraft
    document_id: UUID
    status: Literal["added", "replaced", "unchanged"]
    first_no: int
    replaced: LinkedNames


async def put(
    db: Writing,
    drafts: Sequence[DocumentDraft],
    *,
    vectors_by_key: Mapping[UUID, VectorValue],
    names_version: int = 0,
) -> list[PutDocument]:
    """Store drafts with different identities, each replacing the document with its identity; returns one result each.

    An identical document is left unchanged; jobs that are to store other versions are cancelled. `vectors_by_key` must
    contain the embedding key of every chunk, and `names_version` is that of `document_rows.write`.
    """
    first_no = await db.lock(chunks=sum(len(draft.chunks) for draft in drafts))
    stored = await documents.find_many(db, identities=[draft.identity for draft in drafts])
    await key_bounds.check_replaced(db, [version.document_id for version in stored.values()])
    changed = [draft for draft in drafts if not _is_stored(draft, stored)]
    old_ids = {draft.identity: stored[draft.identity].document_id for draft in changed if draft.identity in stored}
    await pending_versions.supersede(
        db,
        identities=[draft.identity for draft in drafts],
        document_ids=[version.document_id for version in stored.values()],
    )
    replaced = {
        identity: await document_rows.clear(db, {document_id: stored[identity].chunk_count})
        for identity, document_id in old_ids.items()
    }
    ids = old_ids | await unused_ids(db, [draft for draft in changed if draft.identity not in old_ids])
    writes: dict[bytes, DocumentWrite] = {}
    for draft in changed:
        is_new = draft.identity not in old_ids
        writes[draft.identity] = DocumentWrite(ids[draft.identity], draft, first_no, is_new)
        first_no += len(draft.chunks)
    await document_rows.write(db, list(writes.values()), vectors_by_key=vectors_by_key, names_version=names_version)
    return [
        _put(draft, stored.get(draft.identity), writes.get(draft.identity), replaced.get(draft.identity, LinkedNames()))
        for draft in drafts
    ]


def _is_stored(draft: DocumentDraft, stored: Mapping[bytes, StoredVersion]) -> bool:
    known = stored.get(draft.identity)
    return known is not None and known.same_as(draft)


def _put(
    draft: DocumentDraft, known: StoredVersion | None, write: DocumentWrite | None, replaced: LinkedNames
) -> PutDocument:
    if write is not None:
        return PutDocument(draft, write.document_id, "added" if write.is_new else "replaced", write.first_no, replaced)
    assert known is not None
    return PutDocument(draft, known.document_id, "unchanged", 0, replaced)


async def unused_ids(db: Reading, drafts: Sequence[DocumentDraft]) -> dict[bytes, UUID]:
    """The ids of new documents by identity. One that was replaced under another uri keeps the id of its first one."""
    new = {draft.identity: draft.new_id(db.user_id) for draft in drafts}
    if not new:
        return {}
    these = _d.document_id == sa.any_(sa.literal(list(new.values()), sa.ARRAY(sa.Uuid)))
    used = set(await db.scalars(sa.select(_d.document_id).where(_d.user_id == db.user_id, these)))
    return {identity: uuid4() if new_id in used else new_id for identity, new_id in new.items()}
