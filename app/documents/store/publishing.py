"""Makes a staged document visible in one transaction.

The postings are stored before, hidden and a slice at a time. The transaction copies the chunks and vectors, and takes
the user's lock only at its end, when it makes them visible and hides the previous version.
"""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Writing
from app.documents.store import document_rows, hidden_chunks
from app.documents.store.staging import Slice, StagedDocument

_k = tables.staged_chunks.c


async def index(db: Writing, staged: StagedDocument, some: Slice) -> None:
    """Number some chunks and store their postings, hidden. Takes the user's lock."""
    first_no = await hidden_chunks.allocate(db, some.last - some.first + 1)
    binds = {"user_id": db.user_id, "job_id": staged.job_id, "first_no": first_no}
    await db.execute(
        sql.statement("index_staged_chunks"), {**binds, "first_index": some.first, "last_index": some.last}
    )
    hidden = {**binds, "last_no": first_no + some.last - some.first, "config": staged.draft.config}
    await db.execute(sql.statement("hide_staged_chunks"), hidden)


async def begin(db: Writing, staged: StagedDocument, *, lock_s: int) -> None:
    """Prepare a transaction that publishes a document, without the user's lock; a new document is not visible yet."""
    await db.execute(sa.text("SET CONSTRAINTS stepwell.uq_chunks_user_id_document_id_chunk_index DEFERRED"))
    await db.execute(sa.text(f"SET LOCAL lock_timeout = '{int(lock_s)}s'"))
    d = tables.documents.c
    known = sa.select(d.document_id).where(d.user_id == db.user_id, d.document_id == staged.document_id)
    if await db.scalar(known) is None:
        # Metadata is counted under the user's lock, by `finish`.
        values = {**document_rows.attributes(staged.draft), "metadata": {}}
        values |= {"identity": hashlib.sha256(staged.job_id.bytes).digest()}
        ids = {"user_id": db.user_id, "document_id": staged.document_id, "chunk_count": 0}
        await db.execute(sa.insert(tables.documents).values(**ids, **values))


async def try_lock(db: Writing) -> bool:
    """Take the user's lock if no other transaction has it; returns whether it was taken."""
    t = tables.tenants.c
    free = sa.select(t.user_id).where(t.user_id == db.user_id).with_for_update(skip_locked=True)
    return await db.scalar(free) is not None


_PUBLISH_EMBEDDINGS = sql.inline(
    """
    INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
    SELECT :user_id, s.chunk_no, :document_id,
           {{stored_vector stepwell.embeddings, CAST(CAST(s.embedding AS vector) AS text)}}
    FROM stepwell.staged_chunks AS s
    WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_index BETWEEN :first_index AND :last_index
    RETURNING chunk_no
    """,
    user_id="text",
    job_id="uuid",
    document_id="uuid",
    first_index="integer",
    last_index="integer",
)


async def copy(db: Writing, staged: StagedDocument, some: Slice) -> None:
    """Copy some chunks with their vectors to their document."""
    binds = {"user_id": db.user_id, "job_id": staged.job_id, "document_id": staged.document_id}
    binds |= {"first_index": some.first, "last_index": some.last}
    await db.execute(sql.statement("publish_chunks"), {**binds, "config": staged.draft.config})
    await db.execute(_PUBLISH_EMBEDDINGS, binds)


async def finish(db: Writing, staged: StagedDocument, *, names_version: int) -> None:
    """Make the copied chunks those of the document, and hide and delete the previous ones. Under the user's lock.

    A job links the chunks afterwards.
    """
    own = (_k.user_id == db.user_id, _k.job_id == staged.job_id)
    first_no, chunk_count = (await db.execute(sa.select(sa.func.min(_k.chunk_no), sa.func.count()).where(*own))).one()
    await document_rows.hide(db, staged.document_id, before=int(first_no))
    values = {**document_rows.attributes(staged.draft), **document_rows.cut(staged.draft)}
    values |= {"chunk_count": int(chunk_count), "names_version": names_version}
    await document_rows.update(db, staged.document_id, staged.draft, values)
    await hidden_chunks.show(db, staged.job_id)
