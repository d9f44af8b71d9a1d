"""Records changes of entity names, and which of them the stored mentions already reflect.

The gazetteers of processes contain the names of origins `user` and `metadata`. Each change of such a name increments
the user's names_version, in the same transaction, under the user's lock. A title or heading is recorded too if texts
may begin or cease to mention it. A change is pending until a job has linked the chunks that may contain the name. A
change of the gazetteer is then kept for two days, so that a process can update its cache from the changes instead of
reading all names. Its version is its time in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, SharedTransaction, Writing
from app.jobs import store as jobs

_t = tables.tenants.c
_c = tables.entity_changes.c
JOB = "relink"
SLICE = 1_000
"""Maximum number of names per statement, so that other tasks of the event loop can run in between."""
KEPT_MS = 86_400_000
"""Milliseconds for which a processed change is read. It is deleted after twice as long.

Both are measured by the database's clock, so that no process deletes what another one still reads.
"""


@dataclass(frozen=True, slots=True)
class NameChange:
    """An added, changed or removed name. Texts are not linked to it yet.

    Attributes:
        since: The version of the user's data with the change.
        before: The number of the first chunk that was linked after the change.
    """

    key: str
    name: str
    since: int
    before: int

    @property
    def position(self) -> tuple[int, bytes]:
        """The sort key by which changes are followed."""
        return self.since, self.key.encode()


async def version(db: Reading) -> tuple[int, datetime | None, int]:
    """The user's names_version, 0 before anything was named, and the time of the user's first write.

    The third value is the version of names after which every change is still stored.
    """
    query = sa.select(_t.names_version, _t.created_at, (_now_ms() - KEPT_MS).label("kept_from"))
    row = (await db.execute(query.where(_t.user_id == db.user_id))).one_or_none()
    return (0, None, 0) if row is None else (row.names_version, row.created_at, row.kept_from)


_RECORD = sql.inline(
    """
    INSERT INTO stepwell.entity_changes AS c (user_id, name_key, name, version, pending_since, chunks_before)
    SELECT :user_id, g.name_key, g.name, :version::bigint, :since::bigint, :before::bigint
    FROM unnest(:keys::bytea[], :names::text[]) AS g (name_key, name)
    ON CONFLICT (user_id, name_key) DO UPDATE
    SET name = excluded.name, version = greatest(c.version, excluded.version), pending_since = excluded.pending_since,
        chunks_before = greatest(
            excluded.chunks_before, CASE WHEN c.pending_since IS NULL THEN 0 ELSE c.chunks_before END)
    """
)


async def record(db: Writing, names: Mapping[str, str]) -> None:
    """Record that these names (by key) changed for all stored texts, and queue a job that links the texts."""
    if names:
        before = await db.scalar(sa.select(_t.next_chunk_no).where(_t.user_id == db.user_id))
        await _record(db, names, version=await _next_version(db), before=int(before))


async def record_new(db: Writing, names: Mapping[str, str], *, in_gazetteer: bool) -> None:
    """Record new names from documents of this transaction. The transaction links the documents' chunks itself."""
    if names:
        await _record(db, names, version=await _next_version(db) if in_gazetteer else 0, before=db.first_chunk)


async def _next_version(db: Writing) -> int:
    following = sa.func.greatest(_t.names_version + 1, _now_ms())
    change = sa.update(tables.tenants).where(_t.user_id == db.user_id).values(names_version=following)
    return int(await db.scalar(change.returning(_t.names_version)))


async def _record(db: Writing, names: Mapping[str, str], *, version: int, before: int) -> None:
    values = {"user_id": db.user_id, "version": version, "since": db.written_version, "before": before}
    changed = list(names.items())
    for start in range(0, len(changed), SLICE):
        some = changed[start : start + SLICE]
        binds = {"keys": [key.encode() for key, _name in some], "names": [name for _key, name in some]}
        await db.execute(_RECORD, {**values, **binds})
    await enqueue(db)


async def enqueue(db: Writing) -> None:
    """Ensure that a job links what is pending. Under the user's lock, because an ending job looks for more."""
    if not await jobs.count(db, JOB):
        pause = await db.scalar(sa.select(_t.names_pause).where(_t.user_id == db.user_id))
        await jobs.enqueue(db, JOB, not_before=pause)


async def pause(db: Writing, seconds: float) -> None:
    """Delay the user's next job by some seconds, at most by `jobs.LONGEST_WAIT_S`."""
    until = sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, min(seconds, jobs.LONGEST_WAIT_S))
    await db.execute(sa.update(tables.tenants).where(_t.user_id == db.user_id).values(names_pause=until))


# Of all users, as the database's owner. The job of a user whose lock is held sees what this transaction does not.
_ENQUEUE_ALL = sql.inline(
    """
    INSERT INTO stepwell.jobs (job_id, user_id, kind)
    SELECT gen_random_uuid(), u.user_id, :kind::text
    FROM unnest(:users::text[]) AS u (user_id)
    WHERE u.user_id NOT IN (
        SELECT j.user_id FROM stepwell.jobs AS j WHERE j.kind = :kind AND j.status IN ('queued', 'running'))
    RETURNING user_id
    """
)


async def enqueue_all(db: SharedTransaction, *, rules: int) -> list[str]:
    """Queue a job for each user with pending changes, or with documents linked by rules below the version `rules`.

    Returns these users. Requires the database's owner.
    """
    documents, changes = tables.documents.c, tables.entity_changes.c
    waiting = sa.union(
        sa.select(documents.user_id).where(documents.names_version < rules),
        sa.select(changes.user_id).where(changes.pending_since.is_not(None)),
    )
    users = list(await db.scalars(waiting))
    return list(await db.scalars(_ENQUEUE_ALL, {"kind": JOB, "users": users})) if users else []


async def entries(db: Reading) -> list[tuple[str, UUID]]:
    """Every name and alias to match in texts, with its entity, including names hidden from a restricted caller."""
    parts = ("restricted",) if db.has_restricted_role else ()
    rows = await db.execute(sql.statement("all_gazetteer_names", *parts), {"user_id": db.user_id})
    found: list[tuple[str, UUID]] = []
    for row in rows:
        found += zip(row.names, row.entity_ids, strict=True)
    return found


async def entries_of(db: Reading, keys: Iterable[str]) -> dict[str, list[tuple[str, UUID]]]:
    """The names and aliases with these keys that the caller sees. The list of an unknown key is empty."""
    found: dict[str, list[tuple[str, UUID]]] = {key: [] for key in keys}
    for start in range(0, len(wanted := list(found)), SLICE):
        binds = {"user_id": db.user_id, "keys": [key.encode() for key in wanted[start : start + SLICE]]}
        for row in await db.execute(sql.statement("gazetteer_names"), binds):
            found[row.name_key.decode()].append((row.name, row.entity_id))
    return found


_CHANGED_ENTRIES = sql.inline(
    """
    SELECT c.name_key, c.name, c.entity_id
    FROM stepwell.changed_names(:user_id, :version::bigint, :limit::bigint) AS c
    """
)


async def changed_entries(db: Reading, version: int, *, limit: int) -> dict[str, list[tuple[str, UUID]]]:
    """The names and aliases of up to `limit` keys that changed after a version, even for a restricted caller.

    The list of a removed key is empty.
    """
    if not db.has_restricted_role:
        query = sa.select(_c.name_key).where(_c.user_id == db.user_id, _c.version > version)
        keys = await db.scalars(query.order_by(_c.version).limit(limit))
        return await entries_of(db, [key.decode() for key in keys])
    found: dict[str, list[tuple[str, UUID]]] = {}
    binds = {"user_id": db.user_id, "version": version, "limit": limit}
    for row in await db.execute(_CHANGED_ENTRIES, binds):
        entries = found.setdefault(row.name_key.decode(), [])
        if row.entity_id is not None:
            entries.append((row.name, row.entity_id))
    return found


async def pending(db: Reading, *, limit: int, until: Sequence[Any] | None = None) -> list[NameChange]:
    """The oldest pending changes. With `until`, a position of `since` and key, only the changes up to it, if any."""
    query = sa.select(_c.name_key, _c.name, _c.pending_since, _c.chunks_before)
    query = query.where(_c.user_id == db.user_id, _c.pending_since.is_not(None))
    query = query.order_by(_c.pending_since, _c.name_key).limit(limit)
    rows: Sequence[Any] = ()
    if until is not None:
        position = sa.tuple_(sa.literal(until[0], sa.BigInteger), sa.literal(until[1].encode(), sa.LargeBinary))
        rows = (await db.execute(query.where(sa.tuple_(_c.pending_since, _c.name_key) <= position))).all()
    rows = rows or (await db.execute(query)).all()
    return [NameChange(row.name_key.decode(), row.name, row.pending_since, row.chunks_before) for row in rows]


_FOLLOWED = sql.inline(
    """
    UPDATE stepwell.entity_changes AS c SET pending_since = NULL
    FROM unnest(:keys::bytea[], :since::bigint[]) AS g (name_key, since)
    WHERE c.user_id = :user_id AND c.name_key = g.name_key AND c.pending_since = g.since
    """
)


async def mark_followed(db: Writing, changes: Sequence[NameChange]) -> None:
    """Mark changes as processed, unless the names have changed again, and delete changes that are no longer needed."""
    binds = {"keys": [change.key.encode() for change in changes], "since": [change.since for change in changes]}
    await db.execute(_FOLLOWED, {"user_id": db.user_id, **binds})
    of_user = (_c.user_id == db.user_id, _c.pending_since.is_(None), _c.version < _now_ms() - 2 * KEPT_MS)
    await db.execute(sa.delete(tables.entity_changes).where(*of_user))


_EXPIRE = sql.inline(
    "SELECT stepwell.expire_name_changes(CAST(extract(epoch FROM now()) * 1000 AS bigint) - :kept_ms::bigint)"
)


async def expire(db: SharedTransaction, _services: object) -> int:
    """Delete the changes of all users that are no longer needed; returns their number."""
    return int(await db.scalar(_EXPIRE, {"kept_ms": 2 * KEPT_MS}) or 0)


def _now_ms() -> sa.ColumnElement[int]:
    return sa.cast(sa.extract("epoch", sa.func.now()) * 1_000, sa.BigInteger)
