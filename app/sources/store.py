"""Stores sources, which of their files are stored in which version, and which documents belong to them.

Every change of files or documents runs under the user's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from app import errors
from app.database import sql
from app.database.schema import tables
from app.database.schema.tables import documents
from app.database.transactions import Reading, SharedTransaction, Writing
from app.documents.store.selections import SelectedDocument
from app.sources.types import FileFailure, KnownFile, Source, SourceDraft

sources = tables.user_table(
    "sources",
    sa.Column("source_id", sa.Uuid, primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    # Patterns, one to a line.
    sa.Column("glob", sa.Text, nullable=False),
    tables.moment("created_at"),
    sa.Column("synced_at", sa.DateTime(timezone=True)),
    sa.Column("text_field", sa.Text),
    sa.Column("watch", sa.Boolean, nullable=False, server_default="false"),
    # Whether the folder must be one of those that sources may be added from over HTTP.
    sa.Column("confined", sa.Boolean, nullable=False, server_default="true"),
    # The latest job that synchronises it, and the result of the latest one that is done.
    sa.Column("job_id", sa.Uuid),
    tables.json("result"),
    # Null for a source that was added before names existed: the name of its folder.
    sa.Column("name", sa.Text),
    sa.UniqueConstraint("user_id", "name"),
)

source_files = tables.user_table(
    "source_files",
    sa.Column("source_id", sa.Uuid, primary_key=True),
    sa.Column("path", sa.Text(collation="C"), primary_key=True),
    # Of the stored version; null: none is stored, or it is to be read again.
    sa.Column("size", sa.BigInteger),
    sa.Column("mtime_ns", sa.BigInteger),
    sa.Column("content_hash", sa.LargeBinary),
    sa.Column("documents", sa.Integer, nullable=False, server_default="0"),
    # Why the file could not be stored as it is now.
    sa.Column("error", sa.Text),
    sa.Column("job_id", sa.Uuid, nullable=False),
    tables.belongs_to(sources.c.source_id),
)

documents.append_constraint(sa.ForeignKeyConstraint(["user_id", "source_id"], [sources.c.user_id, sources.c.source_id]))

TABLES = (sources, source_files)

_s = sources.c
_f = source_files.c
_d = documents.c
_j = tables.jobs.c


async def add(db: Writing, draft: SourceDraft) -> UUID:
    """Store a source; returns its id."""
    source_id = uuid4()
    values = {"user_id": db.user_id, "source_id": source_id, **_values(draft)}
    await db.execute(sa.insert(sources).values(**values))
    return source_id


async def change(db: Writing, source_id: UUID, draft: SourceDraft, *, reread: bool) -> None:
    """Store other options of a source; with `reread` all of its files are read again."""
    await _update(db, source_id, **_values(draft))
    if reread:
        files = sa.update(source_files).where(_f.user_id == db.user_id, _f.source_id == source_id)
        await db.execute(files.values(size=None, mtime_ns=None, content_hash=None))


async def get(db: Reading, source_id: UUID) -> Source:
    """One source. Raises NotFound."""
    query = sa.select(sources).where(_s.user_id == db.user_id, _s.source_id == source_id)
    row = (await db.execute(query)).one_or_none()
    if row is None:
        raise errors.NotFound("No such source.")
    return _source(db, row._mapping)


async def find(db: Reading, *, path: str, globs: Sequence[str]) -> Source | None:
    """The user's source of this folder with these patterns."""
    query = sa.select(sources).where(_s.user_id == db.user_id, _s.path == path, _s.glob == "\n".join(globs))
    row = (await db.execute(query.order_by(_s.created_at).limit(1))).one_or_none()
    return None if row is None else _source(db, row._mapping)


async def page(
    db: Reading, *, limit: int, after: tuple[datetime, UUID] | None = None, source_id: UUID | None = None
) -> list[Source]:
    """The user's sources, or one of them, with their numbers, newest first, continuing after the position `after`."""
    files = sa.select(sa.func.count()).where(_f.user_id == db.user_id, _f.source_id == _s.source_id)
    documents = sa.select(sa.func.count()).where(_d.user_id == db.user_id, _d.source_id == _s.source_id)
    error = sa.select(_j.error).where(_j.user_id == db.user_id, _j.job_id == _s.job_id)
    numbers = {
        "files": files.where(_f.content_hash.is_not(None)),
        "failed": files.where(_f.error.is_not(None)),
        "documents": documents,
        "error": error.where(sa.literal(db.restriction is None)),
    }
    counts = (number.correlate(sources).scalar_subquery().label(name) for name, number in numbers.items())
    query = sa.select(sources, *counts).where(_s.user_id == db.user_id)
    if source_id is not None:
        query = query.where(_s.source_id == source_id)
    if after is not None:
        query = query.where(sa.tuple_(_s.created_at, _s.source_id) < sa.tuple_(*map(sa.literal, after)))
    query = query.order_by(_s.created_at.desc(), _s.source_id.desc()).limit(limit)
    return [
        replace(_source(db, row._mapping), **{name: row._mapping[name] for name in numbers})
        for row in await db.execute(query)
    ]


async def set_job(db: Writing, source_id: UUID, job_id: UUID) -> None:
    """Store the latest job that synchronises a source."""
    await _update(db, source_id, job_id=job_id)


async def finish(db: Writing, source_id: UUID, result: Mapping[str, Any]) -> None:
    """Store the result of a job that has synchronised a source."""
    await _update(db, source_id, synced_at=sa.func.now(), result=dict(result))


async def _update(db: Writing, source_id: UUID, **values: object) -> None:
    own = (_s.user_id == db.user_id, _s.source_id == source_id)
    await db.execute(sa.update(sources).where(*own).values(**values))


async def delete(db: Writing, source_id: UUID) -> None:
    """Delete a source without documents, and what is recorded of its files."""
    await db.execute(sa.delete(sources).where(_s.user_id == db.user_id, _s.source_id == source_id))


async def drafts(db: Reading) -> dict[UUID, SourceDraft]:
    """All of the user's sources as they were added, by id."""
    rows = await db.execute(sa.select(sources).where(_s.user_id == db.user_id))
    return {found.source_id: found.draft for found in (_source(db, row._mapping) for row in rows)}


async def names(db: Reading) -> dict[UUID, str]:
    """The names of all of the user's sources, by id."""
    return {source_id: draft.shown_name for source_id, draft in (await drafts(db)).items()}


_LINK_FILES = sql.inline(
    """
    UPDATE stepwell.documents AS d SET source_id = :source_id::uuid, source_path = g.path
    FROM unnest(:document_ids::uuid[], :paths::text[]) AS g (document_id, path)
    WHERE d.user_id = :user_id AND d.document_id = g.document_id
      AND (d.source_id IS DISTINCT FROM :source_id OR d.source_path IS DISTINCT FROM g.path)
    """
)


async def link(db: Writing, source_id: UUID, paths: Mapping[UUID, str]) -> None:
    """Record which files of a source documents come from: `paths` has the path of each document's file."""
    binds = {"user_id": db.user_id, "source_id": source_id, "document_ids": list(paths), "paths": list(paths.values())}
    await db.execute(_LINK_FILES, binds)


async def uris_of(db: Reading, source_id: UUID, *, paths: Sequence[str]) -> list[tuple[UUID, str, str | None]]:
    """The documents of some files of a source, with the paths of the files and their own uris."""
    own = (_d.user_id == db.user_id, _d.source_id == source_id, sql.among(_d.source_path, paths))
    return [tuple(row) for row in await db.execute(sa.select(_d.document_id, _d.source_path, _d.uri).where(*own))]


_MOVE_DOCUMENTS = sql.inline(
    """
    UPDATE stepwell.documents AS d SET uri = g.uri, identity = g.identity, updated_at = statement_timestamp()
    FROM unnest(:document_ids::uuid[], :uris::text[], :identities::bytea[]) AS g (document_id, uri, identity)
    WHERE d.user_id = :user_id AND d.document_id = g.document_id
    """
)


async def move(db: Writing, uris: Mapping[bytes, tuple[UUID, str]]) -> None:
    """Give documents new uris, by the identities of these uris. No document may have one of these identities yet."""
    binds = {
        "identities": list(uris),
        "document_ids": [document_id for document_id, _uri in uris.values()],
        "uris": [uri for _document_id, uri in uris.values()],
    }
    await db.execute(_MOVE_DOCUMENTS, {"user_id": db.user_id, **binds})


async def has_documents(db: Reading, source_id: UUID) -> bool:
    """Whether documents come from a source."""
    query = sa.select(_d.document_id).where(_d.user_id == db.user_id, _d.source_id == source_id).limit(1)
    return await db.scalar(query) is not None


async def documents_of(db: Reading, source_id: UUID, *, paths: Sequence[str]) -> list[SelectedDocument]:
    """The documents of some files of a source."""
    query = sa.select(_d.created_at, _d.document_id, _d.chunk_count)
    query = query.where(_d.user_id == db.user_id, _d.source_id == source_id, sql.among(_d.source_path, paths))
    return [SelectedDocument(*row) for row in await db.execute(query.order_by(_d.created_at, _d.document_id))]


_WATCHED = sql.inline(
    """
    SELECT w.user_id, w.source_id, w.path FROM stepwell.watched_sources() AS w ORDER BY w.user_id, w.source_id
    """,
)


async def watched(db: SharedTransaction) -> list[tuple[str, UUID, str]]:
    """The user, the id and the folder of each watched source of all users."""
    return [tuple(row) for row in await db.execute(_WATCHED)]


async def files(db: Reading, source_id: UUID) -> list[KnownFile]:
    """The recorded files of a source, by path."""
    rows = await db.execute(sql.statement("files_of_source"), {"user_id": db.user_id, "source_id": source_id})
    return [KnownFile(**row._mapping) for row in rows]


async def stored_paths(db: Reading, source_id: UUID) -> list[str]:
    """The paths of the files of a source that are recorded as stored, or have stored documents."""
    own = (_f.user_id == db.user_id, _f.source_id == source_id)
    recorded = sa.select(_f.path).where(*own, _f.content_hash.is_not(None))
    of_documents = sa.select(sa.collate(_d.source_path, "C")).where(_d.user_id == db.user_id, _d.source_id == source_id)
    return list(await db.scalars(recorded.union(of_documents)))


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
    WHERE d.user_id = :user_id AND d.source_id = :source_id::uuid AND NOT EXISTS (
        SELECT FROM stepwell.source_files AS f
        WHERE f.user_id = :user_id AND f.source_id = :source_id AND f.path = d.source_path COLLATE "C")
    """
)


async def unrecorded_paths(db: Reading, source_id: UUID) -> list[str]:
    """The paths of files with stored documents but without a record, because a job was interrupted before it."""
    return list(await db.scalars(_UNRECORDED, {"user_id": db.user_id, "source_id": source_id}))


_RECORD_FILES = sql.inline(
    """
    INSERT INTO stepwell.source_files (user_id, source_id, path, size, mtime_ns, content_hash, documents, error, job_id)
    SELECT :user_id, :source_id::uuid, g.path, g.size, g.mtime_ns, g.content_hash, g.documents, g.error, g.job_id
    FROM unnest(:path::text[], :size::bigint[], :mtime_ns::bigint[], :content_hash::bytea[],
                :documents::integer[], :error::text[], :job_id::uuid[])
        AS g (path, size, mtime_ns, content_hash, documents, error, job_id)
    ON CONFLICT (user_id, source_id, path) DO UPDATE
    SET size = excluded.size, mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash,
        documents = excluded.documents, error = excluded.error, job_id = excluded.job_id
    RETURNING path
    """
)


async def record_files(db: Writing, source_id: UUID, recorded: Sequence[KnownFile]) -> None:
    """Record files as a job has found and stored them. If a file comes twice, its last record counts."""
    files = list({file.path: file for file in recorded}.values())
    columns = sql.columns(files, "path", "size", "mtime_ns", "content_hash", "documents", "error", "job_id")
    await db.execute(_RECORD_FILES, {"user_id": db.user_id, "source_id": source_id, **columns})


async def forget_files(db: Writing, source_id: UUID, paths: Sequence[str]) -> None:
    """Delete what is recorded of some files."""
    these = (_f.user_id == db.user_id, _f.source_id == source_id, sql.among(_f.path, paths))
    await db.execute(sa.delete(source_files).where(*these))


def _values(draft: SourceDraft) -> dict[str, Any]:
    values = asdict(draft)
    values["glob"] = "\n".join(values.pop("globs"))
    return values


def _source(db: Reading, row: Mapping[Any, Any]) -> Source:
    """A source. A restricted caller gets no job and no result, because they concern all files of the source."""
    globs = tuple(row["glob"].split("\n"))
    draft = SourceDraft(row["path"], globs, row["text_field"], row["watch"], row["confined"], row["name"])
    job_id, result = (row["job_id"], row["result"]) if db.restriction is None else (None, {})
    return Source(row["source_id"], draft, row["created_at"], row["synced_at"], job_id, result)
