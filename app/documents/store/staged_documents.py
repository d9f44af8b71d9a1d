"""Stores a large document unseen by readers, makes it visible in one transaction, and cancels superseded jobs.

A job stages the chunks of the document with their postings, one slice at a time, and then their vectors. No search
reads these postings (`hidden_chunks`). The transaction that publishes the document copies the chunks and vectors. Only
at its end it takes the user's lock, makes them visible and hides the previous version.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from uuid import UUID, uuid5

import sqlalchemy as sa

from app import errors
from app.database import filters as conditions
from app.database import sql, vectors
from app.database.filter_types import Filters
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.database.vectors import VectorValue
from app.documents.store import document_rows, hidden_chunks, write_checks
from app.documents.types import ChunkDraft, DocumentDraft, SourcePath
from app.jobs import store as jobs

_s = tables.staged_documents.c
_k = tables.staged_chunks.c


@dataclass(frozen=True, slots=True)
class StagedDocument:
    """A large document that a job stores, without chunks."""

    job_id: UUID
    document_id: UUID
    draft: DocumentDraft


@dataclass(frozen=True, slots=True)
class StagedText:
    """A staged chunk with the text to embed, without the title."""

    chunk_index: int
    embedding_key: UUID
    heading_path: tuple[str, ...]
    content: str


async def add(db: Writing, job_id: UUID, document_id: UUID, draft: DocumentDraft) -> None:
    """Record the document that a job will store, without chunks. Under the user's lock."""
    cut = {name: value for name, value in document_rows.cut(draft).items() if name != "chunk_count"}
    values = document_rows.attributes(draft) | {"created_at": draft.created_at} | cut
    ids = {"user_id": db.user_id, "job_id": job_id, "document_id": document_id}
    await db.execute(sa.insert(tables.staged_documents).values(**ids, **values))
    await write_checks.check_written(db, job_ids=[job_id])


async def get(db: Reading, job_id: UUID) -> StagedDocument | None:
    """The document that a job stores; None if it has none."""
    row = (
        await db.execute(sa.select(tables.staged_documents).where(_s.user_id == db.user_id, _s.job_id == job_id))
    ).one_or_none()
    if row is None:
        return None
    fields = dict(row._mapping)
    document_id = fields.pop("document_id")
    del fields["user_id"], fields["job_id"]
    fields["page_starts"] = tuple(fields["page_starts"])
    source_id, source_path = fields.pop("source_id"), fields.pop("source_path")
    fields["source"] = SourcePath(source_id, source_path) if source_id is not None else None
    return StagedDocument(job_id, document_id, DocumentDraft(**fields))


async def stage(db: Writing, staged: StagedDocument, chunks: Sequence[ChunkDraft], *, first_index: int) -> None:
    """Store some chunks of a document, from this index on, with hidden postings. Takes the user's lock.

    Their ids differ from the ids of all other versions of the document that may be stored at the same time.
    """
    rows = [
        {
            "chunk_index": index,
            "chunk_id": uuid5(staged.document_id, f"{staged.job_id}:{index}:{chunk.embedding_key}"),
            **document_rows.of_chunk(chunk),
        }
        for index, chunk in enumerate(chunks, first_index)
    ]
    for config, group in itertools.groupby(rows, key=itemgetter("config")):
        some = list(group)
        binds = {"user_id": db.user_id, "job_id": staged.job_id, "config": config}
        binds |= {"first_no": await hidden_chunks.allocate(db, len(some)), "chunks": document_rows.as_json(some)}
        await db.execute(sql.statement("stage_chunks"), binds)


async def extent(db: Reading, job_id: UUID) -> tuple[int, int]:
    """How many chunks a job has staged, and the offset at which they end; -1 without chunks."""
    columns = (sa.func.count(), sa.func.coalesce(sa.func.max(_k.end_offset), -1))
    count, end = (await db.execute(sa.select(*columns).where(_k.user_id == db.user_id, _k.job_id == job_id))).one()
    return count, end


async def texts(db: Reading, job_id: UUID, *, first: int, limit: int) -> list[StagedText]:
    """The chunks from this index on that have no vector yet, in order."""
    query = (
        sa.select(_k.chunk_index, _k.embedding_key, _k.heading_path, _k.content)
        .where(_k.user_id == db.user_id, _k.job_id == job_id, _k.chunk_index >= first, _k.embedding.is_(None))
        .order_by(_k.chunk_index)
        .limit(limit)
    )
    return [StagedText(row[0], row[1], tuple(row[2]), row[3]) for row in await db.execute(query)]


_STAGE_VECTORS = sql.inline(
    """
    UPDATE stepwell.staged_chunks AS s SET embedding = CAST(CAST(v.embedding AS vector) AS real[])
    FROM unnest(:embedding_keys::uuid[], :vectors::text[]) AS v (embedding_key, embedding)
    WHERE s.user_id = :user_id AND s.job_id = :job_id::uuid
      AND s.chunk_index BETWEEN :first_index::integer AND :last_index::integer
      AND s.embedding_key = v.embedding_key
    RETURNING s.chunk_index
    """
)


async def stage_vectors(
    db: Writing, job_id: UUID, *, first: int, last: int, by_key: Mapping[UUID, VectorValue]
) -> None:
    """Store the vectors, given by embedding key, of the chunks from the first to the last index."""
    texts = vectors.as_texts(by_key.values())
    binds = {"user_id": db.user_id, "job_id": job_id, "embedding_keys": list(by_key), "vectors": texts}
    await db.execute(_STAGE_VECTORS, {**binds, "first_index": first, "last_index": last})


async def begin(db: Writing, staged: StagedDocument, *, lock_s: int) -> bool:
    """Begin to publish a document, without the user's lock. A new one gets a row that is not visible yet.

    Returns whether the document is new.
    """
    await db.execute(sa.text("SET CONSTRAINTS stepwell.uq_chunks_user_id_document_id_chunk_index DEFERRED"))
    await db.execute(sa.text(f"SET LOCAL lock_timeout = '{int(lock_s)}s'"))
    d = tables.documents.c
    known = sa.select(d.document_id).where(d.user_id == db.user_id, d.document_id == staged.document_id)
    is_new = await db.scalar(known) is None
    if is_new:
        # Metadata is counted under the user's lock, by `finish`.
        values = {**document_rows.attributes(staged.draft), "metadata": {}}
        values |= {"identity": hashlib.sha256(staged.job_id.bytes).digest()}
        ids = {"user_id": db.user_id, "document_id": staged.document_id, "chunk_count": 0}
        await db.execute(sa.insert(tables.documents).values(**ids, **values))
    return is_new


async def try_lock(db: Writing) -> bool:
    """Take the user's lock if no other transaction has it; returns whether it was taken."""
    t = tables.tenants.c
    free = sa.select(t.user_id).where(t.user_id == db.user_id).with_for_update(skip_locked=True)
    return await db.scalar(free) is not None


_PUBLISH_EMBEDDINGS = sql.inline(
    """
    INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
    SELECT :user_id, s.chunk_no, :document_id::uuid,
           {{stored_vector stepwell.embeddings, CAST(CAST(s.embedding AS vector) AS text)}}
    FROM stepwell.staged_chunks AS s
    WHERE s.user_id = :user_id AND s.job_id = :job_id::uuid
      AND s.chunk_index BETWEEN :first_index::integer AND :last_index::integer
    RETURNING chunk_no
    """
)


async def copy(db: Writing, staged: StagedDocument, *, first: int, last: int) -> None:
    """Copy the chunks from the first to the last index, with their vectors, to their document."""
    binds = {"user_id": db.user_id, "job_id": staged.job_id, "document_id": staged.document_id}
    binds |= {"first_index": first, "last_index": last}
    await db.execute(sql.statement("publish_chunks"), binds)
    await db.execute(_PUBLISH_EMBEDDINGS, binds)


async def finish(db: Writing, staged: StagedDocument, *, names_version: int) -> None:
    """Give the copied chunks to the document, and hide and delete its previous chunks. Under the user's lock.

    A job links the chunks afterwards.
    """
    own = (_k.user_id == db.user_id, _k.job_id == staged.job_id)
    first_no, chunk_count = (await db.execute(sa.select(sa.func.min(_k.chunk_no), sa.func.count()).where(*own))).one()
    await document_rows.hide(db, staged.document_id, before=int(first_no))
    values = {**document_rows.attributes(staged.draft), **document_rows.cut(staged.draft)}
    values |= {"chunk_count": int(chunk_count), "names_version": names_version}
    await document_rows.update(db, staged.document_id, staged.draft, values)
    await hidden_chunks.show(db, staged.job_id)


async def delete_ended(db: Writing, *, limit: int) -> int:
    """Delete staged rows of ended jobs. Returns the number of deleted chunks, 0 if none is left."""
    staged = list(await db.scalars(sa.select(_s.job_id).where(_s.user_id == db.user_id)))
    ended = set(staged).difference(await jobs.open_among(db, staged))
    chunks = (_k.user_id == db.user_id, sql.among(_k.job_id, ended))
    some = sa.select(_k.job_id, _k.chunk_index).where(*chunks).limit(limit)
    gone = (_k.user_id == db.user_id, sa.tuple_(_k.job_id, _k.chunk_index).in_(some))
    deleted = (await db.execute(sa.delete(tables.staged_chunks).where(*gone))).rowcount
    if not deleted:
        documents = (_s.user_id == db.user_id, sql.among(_s.job_id, ended))
        await db.execute(sa.delete(tables.staged_documents).where(*documents))
    return int(deleted)


@dataclass(frozen=True, slots=True)
class PendingVersion:
    """A version that a job will store: the job, the document, and the hashes of the version."""

    job_id: UUID
    document_id: UUID
    content_hash: bytes
    attributes_hash: bytes


async def pending(
    db: Reading, *, identities: Sequence[bytes] = (), document_ids: Sequence[UUID] = ()
) -> list[PendingVersion]:
    """The versions that jobs will store of the documents with these identities or ids."""
    if not (identities or document_ids):
        return []
    same = (sql.among(_s.identity, identities), sql.among(_s.document_id, document_ids))
    columns = (_s.job_id, _s.document_id, _s.content_hash, _s.attributes_hash)
    query = sa.select(*columns).where(_s.user_id == db.user_id, sa.or_(*same))
    found = [PendingVersion(*row) for row in await db.execute(query)]
    are_open = await jobs.open_among(db, [version.job_id for version in found])
    return [version for version in found if version.job_id in are_open]


def check_none(versions: Sequence[PendingVersion]) -> None:
    """Raises Conflict if a job will store one of these versions."""
    if versions:
        raise errors.Conflict("A new version of this document is being stored: wait for its job, or cancel it.")


async def supersede(db: Writing, *, identities: Sequence[bytes] = (), document_ids: Sequence[UUID] = ()) -> list[UUID]:
    """Cancel the jobs that store a version of these documents; returns the documents' ids. Under the user's lock."""
    superseded = await pending(db, identities=identities, document_ids=document_ids)
    await write_checks.check_replaced(db, [], [version.job_id for version in superseded])
    for version in superseded:
        await jobs.cancel(db, version.job_id)
    return [version.document_id for version in superseded]


async def cancel_of_source(db: Writing, source_id: UUID) -> None:
    """Cancel the jobs that store documents of a source. Under the user's lock."""
    query = sa.select(_s.job_id).where(_s.user_id == db.user_id, _s.source_id == source_id)
    for job_id in await jobs.open_among(db, list(await db.scalars(query))):
        await jobs.cancel(db, job_id)


async def cancel_selected(db: Writing, filters: Filters) -> None:
    """Cancel the jobs that would store documents that pass the filters. Under the user's lock."""
    staged = await db.scalars(sa.select(_s.job_id).where(_s.user_id == db.user_id))
    are_open = await jobs.open_among(db, list(staged))
    filtering = conditions.binds(conditions.visible(db, filters))
    binds = {"user_id": db.user_id, "job_ids": list(are_open), "created": list(are_open.values()), **filtering}
    for job_id in list(await db.scalars(sql.statement("staged_by_filter", *filtering), binds)):
        await jobs.cancel(db, job_id)
