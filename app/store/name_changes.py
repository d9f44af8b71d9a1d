"""Records changes of entity names, and which of them the stored mentions already reflect.

Every change of the names that are looked for in texts (origins `user` and `metadata`) counts the user's names_version
up, in its own transaction and under the user's lock, and leaves a row a name. A row is pending until the stored texts
were linked anew; it stays a while after that, so that a process can bring what it remembers up to date by reading
the changes instead of all names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.store import jobs, sql, tables
from app.store.db import Reading, Writing

_t = tables.tenants.c
_c = tables.entity_changes.c
JOB = "relink"
SLICE = 1_000
"""Names that one statement writes, so that the event loop gets its turn between them."""
MAX_KEPT = 10_000
"""Versions for which a change that was followed is still kept."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """A name that was added, changed or removed; `lowered` if metadata named it before."""

    key: str
    name: str
    version: int
    lowered: bool


async def version(db: Reading, user_id: str) -> int:
    """The user's names_version; 0 before anything was named."""
    return await db.scalar(sa.select(_t.names_version).where(_t.user_id == user_id)) or 0


async def record(db: Writing, user_id: str, names: Mapping[str, str], *, lowered: bool = False) -> None:
    """Note that these names (by key) changed, and have the stored texts linked anew. Under the user's lock.

    `lowered` says that metadata named them and does so no more.
    """
    if not names:
        return
    change = sa.update(tables.tenants).where(_t.user_id == user_id).values(names_version=_t.names_version + 1)
    new = await db.scalar(change.returning(_t.names_version))
    changed = list(names.items())
    for start in range(0, len(changed), SLICE):
        some = changed[start : start + SLICE]
        binds = {"keys": [key.encode() for key, _name in some], "names": [name for _key, name in some], "version": new}
        await db.execute(sql.statement("record_name_changes"), {"user_id": user_id, "lowered": lowered, **binds})
    await jobs.enqueue(db, user_id, JOB)


async def entries(db: Reading, user_id: str) -> list[tuple[str, UUID]]:
    """Every name and alias that is looked for in texts, with whose it is."""
    rows = await db.execute(sql.statement("all_gazetteer_names"), {"user_id": user_id})
    found: list[tuple[str, UUID]] = []
    for row in rows:
        found += zip(row.names, row.entity_ids, strict=True)
    return found


async def entries_of(db: Reading, user_id: str, keys: Iterable[str]) -> dict[str, list[tuple[str, UUID]]]:
    """The same for some keys; a key that names nothing has an empty list."""
    found: dict[str, list[tuple[str, UUID]]] = {key: [] for key in keys}
    for start in range(0, len(wanted := list(found)), SLICE):
        binds = {"user_id": user_id, "keys": [key.encode() for key in wanted[start : start + SLICE]]}
        for row in await db.execute(sql.statement("gazetteer_names"), binds):
            found[row.name_key.decode()].append((row.name, row.entity_id))
    return found


async def since(db: Reading, user_id: str, version: int, *, limit: int) -> list[NameChange]:
    """Up to `limit` changes after a version, whether followed or not."""
    rows = await db.execute(_changed(user_id).where(_c.version > version).order_by(_c.version).limit(limit))
    return [NameChange(row.name_key.decode(), row.name, row.version, row.lowered) for row in rows]


async def pending(db: Reading, user_id: str, version: int) -> list[NameChange]:
    """The changes up to a version that the stored texts do not follow yet."""
    rows = await db.execute(_changed(user_id).where(_c.pending, _c.version <= version))
    return [NameChange(row.name_key.decode(), row.name, row.version, row.lowered) for row in rows]


async def mark_followed(db: Writing, user_id: str, version: int) -> None:
    """Note that the stored texts follow all changes up to a version."""
    of_user = _c.user_id == user_id
    done = sa.update(tables.entity_changes).where(of_user, _c.pending, _c.version <= version)
    await db.execute(done.values(pending=False))
    await db.execute(sa.delete(tables.entity_changes).where(of_user, ~_c.pending, _c.version <= version - MAX_KEPT))


def _changed(user_id: str) -> sa.Select[tuple[bytes, str, int, bool]]:
    return sa.select(_c.name_key, _c.name, _c.version, _c.lowered).where(_c.user_id == user_id)
