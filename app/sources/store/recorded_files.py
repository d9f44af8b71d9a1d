"""Records which files of sources are stored in which version, and which could not be stored."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.transactions import Reading, Writing
from app.sources import tables
from app.sources.types import FileFailure, KnownFile

_f = tables.source_files.c


async def files(db: Reading, source_id: UUID) -> list[KnownFile]:
    """The recorded files of a source, by path."""
    rows = await db.execute(sql.statement("files_of_source"), {"user_id": db.user_id, "source_id": source_id})
    return [KnownFile(**row._mapping) for row in rows]


async def stored_paths(db: Reading, source_id: UUID) -> list[str]:
    """The paths of the files of a source that are stored."""
    own = (_f.user_id == db.user_id, _f.source_id == source_id)
    return list(await db.scalars(sa.select(_f.path).where(*own, _f.content_hash.is_not(None))))


async def failures(
    db: Reading, *, limit: int, source_id: UUID | None = None, job_id: UUID | None = None
) -> list[FileFailure]:
    """The files that could not be stored as they are, of a source or by a job, by path."""
    of = _f.job_id == job_id if source_id is None else _f.source_id == source_id
    query = sa.select(_f.path, _f.error).where(_f.user_id == db.user_id, of, _f.error.is_not(None))
    failed = query.order_by(_f.path).limit(limit)
    return [FileFailure(path, reason) for path, reason in await db.execute(failed)]


_UNRECORDED = sql.inline(
    """
    SELECT DISTINCT d.source_path
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.source_id = :source_id AND NOT EXISTS (
        SELECT FROM stepwell.source_files AS f
        WHERE f.user_id = :user_id AND f.source_id = :source_id AND f.path = d.source_path COLLATE "C")
    """,
    user_id="text",
    source_id="uuid",
)


async def unrecorded_paths(db: Reading, source_id: UUID) -> list[str]:
    """The paths of files of which documents are stored, but which a job that ended in between has not recorded."""
    return list(await db.scalars(_UNRECORDED, {"user_id": db.user_id, "source_id": source_id}))


_RECORDED = ("path", "size", "mtime_ns", "content_hash", "documents", "error", "job_id")
_RECORD_FILES = sql.inline(
    """
    INSERT INTO stepwell.source_files (user_id, source_id, path, size, mtime_ns, content_hash, documents, error, job_id)
    SELECT :user_id, :source_id, g.path, g.size, g.mtime_ns, g.content_hash, g.documents, g.error, g.job_id
    FROM unnest(:path, :size, :mtime_ns, :content_hash, :documents, :error, :job_id)
        AS g (path, size, mtime_ns, content_hash, documents, error, job_id)
    ON CONFLICT (user_id, source_id, path) DO UPDATE
    SET size = excluded.size, mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash,
        documents = excluded.documents, error = excluded.error, job_id = excluded.job_id
    RETURNING path
    """,
    user_id="text",
    source_id="uuid",
    path="text[]",
    size="bigint[]",
    mtime_ns="bigint[]",
    content_hash="bytea[]",
    documents="integer[]",
    error="text[]",
    job_id="uuid[]",
)


async def record(db: Writing, source_id: UUID, recorded: Sequence[KnownFile]) -> None:
    """Record files as a job has found and stored them; of a file that comes twice, the last record."""
    files = list({file.path: file for file in recorded}.values())
    binds = {name: [getattr(file, name) for file in files] for name in _RECORDED}
    await db.execute(_RECORD_FILES, {"user_id": db.user_id, "source_id": source_id, **binds})


async def forget(db: Writing, source_id: UUID, paths: Sequence[str]) -> None:
    """Delete what is recorded of some files."""
    these = _f.path == sa.any_(sa.literal(list(paths), sa.ARRAY(sa.Text)))
    await db.execute(sa.delete(tables.source_files).where(_f.user_id == db.user_id, _f.source_id == source_id, these))
