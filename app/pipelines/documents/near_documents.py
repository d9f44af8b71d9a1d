"""Finds the documents whose texts are nearly the same, by their sketches (docs/decisions/0045-near-documents.md)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.pipelines.running import offload
from app.shapes import DuplicateSet, NearDuplicateUse, limits
from app.store.connection.transactions import Database, retry_read
from app.store.documents import sketched_documents
from app.store.documents.sketched_documents import SketchedDocuments
from app.text.words import sketches

MOST = 250_000
"""Documents that are compared, the newest ones."""
MAX_SETS = 10
MAX_CALLERS = 1_000
"""Callers whose sets a process keeps for each database, until their documents change."""

_Owner = tuple[str, str | None]
"""A user, and what its callers share who do not see everything (`Restriction.audience`)."""
_kept: weakref.WeakKeyDictionary[object, LRUCache[_Owner, tuple[int, NearDuplicateUse]]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Set:
    """The number of documents of a set, and the ids of the oldest ones."""

    count: int
    ids: list[UUID]


@retry_read
async def use(user_id: str, *, db: Database) -> NearDuplicateUse:
    """The number of a user's documents that nearly repeat another one, and the largest sets of them.

    Of documents with the same text, one is compared. Linear in the number of documents but for sorting.
    """
    async with db.reading(user_id) as reading:
        kept = _kept.setdefault(reading.database_key, LRUCache(MAX_CALLERS))
        owner, version = (user_id, reading.audience), reading.version.data
        if owner in kept and kept[owner][0] == version:
            return kept[owner][1]
        read = await sketched_documents.read(reading, most=MOST, width=sketches.BYTES)
    found = await _use(read, user_id, db)
    if not found.uncompared:  # `stepwell reindex` adds sketches without raising the version
        kept[owner] = version, found
    return found


async def _use(read: SketchedDocuments, user_id: str, db: Database) -> NearDuplicateUse:
    sets = await offload.run(len(read.sketches), _sets, read)
    if not sets:
        return NearDuplicateUse(uncompared=read.unread)
    largest = sets[:MAX_SETS]
    async with db.reading(user_id) as reading:
        names = await sketched_documents.named(reading, [id for one in largest for id in one.ids])
    return NearDuplicateUse(
        sum(one.count - 1 for one in sets),
        tuple(DuplicateSet(one.count, tuple(name for name in names if name.document_id in one.ids)) for one in largest),
        read.unread,
    )


def _sets(read: SketchedDocuments) -> list[_Set]:
    """The sets, largest first; the oldest of equal documents stands for them."""
    ids, hashes, rows = (
        np.frombuffer(packed, kind).reshape(-1, width)[::-1]
        for packed, kind, width in (
            (read.ids, np.uint8, 16),
            (read.hashes, np.uint64, 1),
            (read.sketches, np.uint8, sketches.BYTES),
        )
    )
    oldest = np.sort(np.unique(hashes, return_index=True)[1])
    firsts = sketches.near(rows[oldest])
    members = np.flatnonzero(np.bincount(firsts, minlength=len(firsts))[firsts] > 1)
    ordered = members[np.argsort(firsts[members], kind="stable")]
    groups = np.split(ordered, np.flatnonzero(np.diff(firsts[ordered])) + 1)
    sets = [_Set(len(group), _ids(ids[oldest[group[: limits.MAX_NAMED_DUPLICATES]]])) for group in groups if len(group)]
    return sorted(sets, key=lambda one: -one.count)


def _ids(rows: NDArray[np.uint8]) -> list[UUID]:
    return [UUID(bytes=row.tobytes()) for row in rows]
