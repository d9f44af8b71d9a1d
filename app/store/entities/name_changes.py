"""Records changes of entity names, and which of them the stored mentions already reflect.

Every change of names that are matched in texts (origins `user` and `metadata`), and every one of the other names whose
effect on stored texts a job has to follow, increments the user's names_version in
the same transaction, under the user's lock, and stores one row per name. A row is pending until the stored texts have
been relinked. It is kept for MAX_KEPT versions after that, so that a process can update its cache from the changes
instead of reading all names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.store.connection import sql
from app.store.connection.transactions import Reading, Writing
from app.store.jobs import jobs
from app.store.schema import tables

_t = tables.tenants.c
_c = tables.entity_changes.c
JOB = "relink"
SLICE = 1_000
"""Maximum number of names per statement, so that other tasks of the event loop can run in between."""
MAX_KEPT = 10_000
"""Number of versions for which a processed change is kept."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """A name that was added, changed or removed.

    `automatic` if texts are linked again to the entity that is made from the name too, because it has become or ceased
    to be a title, a heading or a name in metadata.
    """

    key: str
    name: str
    version: int
    automatic: bool


async def version(db: Reading) -> int:
    """The user's names_version; 0 before anything was named."""
    return await db.scalar(sa.select(_t.names_version).where(_t.user_id == db.user_id)) or 0


# `lowered` is kept while the change is pending.
_RECORD = sql.inline(
    """
    INSERT INTO stepwell.entity_changes AS c (user_id, name_key, name, version, lowered)
    SELECT :user_id, g.name_key, g.name, :version, :automatic FROM unnest(:keys, :names) AS g (name_key, name)
    ON CONFLICT (user_id, name_key) DO UPDATE
    SET name = excluded.name, version = excluded.version, pending = true,
        lowered = excluded.lowered OR (c.pending AND c.lowered)
    """,
    user_id="text",
    keys="bytea[]",
    names="text[]",
    version="bigint",
    automatic="boolean",
)


async def record(db: Writing, names: Mapping[str, str], *, automatic: bool = False) -> None:
    """Record that these names (by key) changed, and enqueue relinking the stored texts. Under the user's lock.

    `automatic` links the texts to the entities that are made from the names too.
    """
    if not names:
        return
    change = sa.update(tables.tenants).where(_t.user_id == db.user_id).values(names_version=_t.names_version + 1)
    new = await db.scalar(change.returning(_t.names_version))
    changed = list(names.items())
    for start in range(0, len(changed), SLICE):
        some = changed[start : start + SLICE]
        binds = {"keys": [key.encode() for key, _name in some], "names": [name for _key, name in some], "version": new}
        await db.execute(_RECORD, {"user_id": db.user_id, "automatic": automatic, **binds})
    await jobs.enqueue(db, JOB)


async def entries(db: Reading) -> list[tuple[str, UUID]]:
    """Every name and alias that is matched in texts, with its entity; a restricted caller does not see all of them."""
    parts = () if db.restriction is None else ("restricted",)
    rows = await db.execute(sql.statement("all_gazetteer_names", *parts), {"user_id": db.user_id})
    found: list[tuple[str, UUID]] = []
    for row in rows:
        found += zip(row.names, row.entity_ids, strict=True)
    return found


async def entries_of(db: Reading, keys: Iterable[str]) -> dict[str, list[tuple[str, UUID]]]:
    """The names and aliases with some keys that the caller sees; the list of an unknown key is empty."""
    found: dict[str, list[tuple[str, UUID]]] = {key: [] for key in keys}
    for start in range(0, len(wanted := list(found)), SLICE):
        binds = {"user_id": db.user_id, "keys": [key.encode() for key in wanted[start : start + SLICE]]}
        for row in await db.execute(sql.statement("gazetteer_names"), binds):
            found[row.name_key.decode()].append((row.name, row.entity_id))
    return found


_CHANGED_ENTRIES = sql.inline(
    "SELECT c.name_key, c.name, c.entity_id FROM stepwell.changed_names(:user_id, :version, :limit) AS c",
    user_id="text",
    version="bigint",
    limit="bigint",
)


async def changed_entries(db: Reading, version: int, *, limit: int) -> dict[str, list[tuple[str, UUID]]]:
    """The names and aliases of up to `limit` keys that changed after a version, for a restricted caller too.

    The list of a key that is gone is empty.
    """
    if db.restriction is None:
        return await entries_of(db, {change.key for change in await since(db, version, limit=limit)})
    found: dict[str, list[tuple[str, UUID]]] = {}
    binds = {"user_id": db.user_id, "version": version, "limit": limit}
    for row in await db.execute(_CHANGED_ENTRIES, binds):
        entries = found.setdefault(row.name_key.decode(), [])
        if row.entity_id is not None:
            entries.append((row.name, row.entity_id))
    return found


async def since(db: Reading, version: int, *, limit: int) -> list[NameChange]:
    """Up to `limit` changes after a version, pending or not."""
    rows = await db.execute(_changed(db.user_id).where(_c.version > version).order_by(_c.version).limit(limit))
    return [NameChange(row.name_key.decode(), row.name, row.version, row.automatic) for row in rows]


async def pending(db: Reading, version: int) -> list[NameChange]:
    """The pending changes up to a version."""
    rows = await db.execute(_changed(db.user_id).where(_c.pending, _c.version <= version))
    return [NameChange(row.name_key.decode(), row.name, row.version, row.automatic) for row in rows]


async def mark_followed(db: Writing, version: int) -> None:
    """Mark all changes up to a version as processed, and delete old ones."""
    of_user = _c.user_id == db.user_id
    done = sa.update(tables.entity_changes).where(of_user, _c.pending, _c.version <= version)
    await db.execute(done.values(pending=False))
    await db.execute(sa.delete(tables.entity_changes).where(of_user, ~_c.pending, _c.version <= version - MAX_KEPT))


def _changed(user_id: str) -> sa.Select[tuple[bytes, str, int, bool]]:
    return sa.select(_c.name_key, _c.name, _c.version, _c.automatic).where(_c.user_id == user_id)
