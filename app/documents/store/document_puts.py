"""Finds what is stored under the identities of drafts, and stores drafts as documents, several per transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app import errors
from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.database.vectors import VectorValue
from app.documents.store import document_rows, staged_documents, write_checks
from app.documents.store.document_rows import PutDocument
from app.documents.types import DocumentDraft
from app.entities.store.mentions import LinkedNames

_d = tables.documents.c
_c = tables.chunks.c
_e = tables.embeddings.c


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """The id, hashes and size of a stored document."""

    document_id: UUID
    content_hash: bytes
    attributes_hash: bytes
    chunk_count: int

    def same_as(self, draft: DocumentDraft) -> bool:
        """Whether storing `draft` would change nothing."""
        return (self.content_hash, self.attributes_hash) == (draft.content_hash, draft.attributes_hash)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a draft is stored: its document, the stored version if there is one, and whether a job has staged another.

    The id of a new document is derived from its identity, unless a document that was moved to another uri has that id.
    """

    document_id: UUID
    stored: StoredVersion | None
    is_staged: bool


async def find(db: Reading, *, identity: bytes) -> StoredVersion | None:
    """The stored version of the user's document with this identity; None if there is none."""
    return (await find_many(db, identities=[identity])).get(identity)


async def find_many(db: Reading, *, identities: Sequence[bytes]) -> dict[bytes, StoredVersion]:
    """The stored versions of the user's documents with these identities, by identity."""
    query = sa.select(_d.identity, _d.document_id, _d.content_hash, _d.attributes_hash, _d.chunk_count)
    rows = await db.execute(query.where(_d.user_id == db.user_id, sql.among(_d.identity, identities)))
    return {identity: StoredVersion(*rest) for identity, *rest in rows}


async def known_vectors(db: Reading, *, keys: Sequence[UUID]) -> dict[UUID, str]:
    """The user's stored vectors (as Postgres text) by embedding key, for the keys that exist."""
    query = (
        sa.select(_c.embedding_key, sa.cast(_e.embedding, sa.Text))
        .ext(postgresql.distinct_on(_c.embedding_key))
        .join_from(tables.chunks, tables.embeddings, sa.and_(_e.user_id == db.user_id, _e.chunk_no == _c.chunk_no))
        .where(_c.user_id == db.user_id, sql.among(_c.embedding_key, keys))
        .order_by(_c.embedding_key)
    )
    return {key: vector for key, vector in await db.execute(query)}


async def put(
    db: Writing,
    drafts: Sequence[DocumentDraft],
    *,
    vectors_by_key: Mapping[UUID, VectorValue],
    names_version: int = 0,
    document_id: UUID | None = None,
) -> tuple[list[PutDocument], LinkedNames]:
    """Store drafts with different identities. Each replaces the document with its identity and has one result.

    An identical document stays unchanged. With `document_id` a single draft replaces that document. Jobs that would
    store other versions are cancelled. `vectors_by_key` must contain the embedding key of every chunk; for
    `names_version` see `document_rows.write`. Also returns the names in the replaced versions; the caller prunes them
    after it has linked the new versions. Raises what `targets` raises.
    """
    first_no = await db.lock(chunks=sum(len(draft.chunks) for draft in drafts))
    found = await targets(db, drafts, document_id=document_id)
    stored = {target.document_id: target.stored for target in found.values() if target.stored}
    if any(target.is_staged for target in found.values()):
        await staged_documents.supersede(db, identities=list(found), document_ids=list(stored))
    done: list[PutDocument] = []
    for draft in drafts:
        target = found[draft.identity]
        if target.stored is not None and target.stored.same_as(draft):
            done.append(PutDocument(target.document_id, draft, "unchanged"))
        else:
            done.append(PutDocument(target.document_id, draft, "replaced" if target.stored else "added", first_no))
            first_no += len(draft.chunks)
    writes = [one for one in done if one.status != "unchanged"]
    old = {one.document_id: stored[one.document_id].chunk_count for one in writes if one.status == "replaced"}
    replaced = await document_rows.clear(db, old) if old else LinkedNames()
    await document_rows.write(db, writes, vectors_by_key=vectors_by_key, names_version=names_version)
    return done, replaced


async def targets(
    db: Writing, drafts: Sequence[DocumentDraft], *, document_id: UUID | None = None
) -> dict[bytes, Target]:
    """Where drafts are stored, by identity. With `document_id` a single draft is stored there. Under the user's lock.

    Raises OutsideOfKey, NotFound if no document has this id, and Conflict if another document has the identity.
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
        await write_checks.check_seen(db, [document_id])
    if db.restriction is not None:
        await write_checks.check_replaced(db, [target.document_id for target in found.values() if target.stored])
    if document_id is not None:
        found = {identity: await _chosen(db, document_id, target.stored) for identity, target in found.items()}
    return found


async def _chosen(db: Writing, document_id: UUID, same: StoredVersion | None) -> Target:
    """The document as the target of a draft; `same` is stored with the draft's identity. Raises NotFound, Conflict."""
    count = sa.select(_d.chunk_count).where(_d.user_id == db.user_id, _d.document_id == document_id)
    if (chunk_count := await db.scalar(count)) is None:
        raise write_checks.not_found()
    if same is not None and same.document_id != document_id:
        raise errors.Conflict("Another document already has this uri or this content.", field="uri")
    # The empty hashes equal none: a draft with another identity always changes the document.
    return Target(document_id, same or StoredVersion(document_id, b"", b"", chunk_count), is_staged=True)
