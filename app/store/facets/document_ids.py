"""Reads the ids of the keys and values of all documents of a user, and their attributes, and keeps them in memory.

Each write notes which ids it has changed (`note_facet_change.sql`), so that what is kept becomes current by reading the
changes since, and not all documents again. Attributes are kept once a request has tested any.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from cachetools import LRUCache

from app.shapes import Filters
from app.store.connection import sql
from app.store.connection.transactions import Reading, Version
from app.store.facets.document_attributes import Attributes
from app.store.facets.facet_tally import DocumentIds, Keys, SignedIds
from app.store.filters import filters

PORTION = 200_000
"""Documents whose ids are read at once: about 13 MB, and 25 of attributes."""
KEPT_BYTES = 100_000_000
"""Memory for ids of documents in a process; those of 100,000 with seven keys take 8 MB, their attributes 11."""
MOST_CHANGED, CHANGED_SHARE = 1_000, 0.1
"""Changed documents, and the share of all by which they may be more, before all documents are read again."""
_LARGEST_ID = (1 << 128) - 1
_ALL: Mapping[str, UUID] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class KeptIds:
    """The ids of all documents of a user at a version: as they were read, and what was added and removed since.

    All have attributes, or none. `change` is the place and the id of the last change that is contained, if there is
    one.
    """

    version: Version
    change: tuple[int, UUID] | None
    read: Sequence[DocumentIds]
    added: DocumentIds
    removed: DocumentIds

    @property
    def signed(self) -> list[SignedIds]:
        """The ids to count, those of removed documents with -1."""
        return [*((ids, 1) for ids in (*self.read, self.added)), (self.removed, -1)]

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sum(ids.size for ids, _ in self.signed)

    @property
    def has_attributes(self) -> bool:
        """Whether the attributes of the documents are kept as well."""
        return self.removed.attributes is not None

    def changed(self, version: Version, changes: Sequence[Any]) -> KeptIds | None:
        """The ids after changes, of which the first is contained; None if it is not, or too much has changed."""
        if self.change is None or not changes or self.change != (changes[0].place, changes[0].change_id):
            return None
        new = [_noted(changes[1:], side, with_attributes=self.has_attributes) for side in ("added", "removed")]
        if any(ids.attributes and ids.attributes.documents != len(ids.starts) for ids in new):
            return None  # a process of a version before 0040 notes no attributes
        added, removed = map(DocumentIds.joined, (self.added, self.removed), new)
        documents = sum(len(ids.starts) for ids in self.read)
        if len(added.starts) + len(removed.starts) > MOST_CHANGED + CHANGED_SHARE * documents:
            return None
        return KeptIds(version, (changes[-1].place, changes[-1].change_id), self.read, added, removed)

    def agrees(self, keys: Keys) -> bool:
        """Whether as many documents have each key as is counted of it.

        A process of a version before 0039 deletes documents without noting it.
        """
        return all(
            sum(sign * ids.documents_with(key) for ids, sign in self.signed) == documents
            for key, documents in zip(keys.ids, keys.documents, strict=True)
        )


@dataclass(frozen=True, slots=True)
class IdCache:
    """The ids of all documents of users."""

    kept: LRUCache[str, KeptIds] = field(default_factory=lambda: LRUCache(KEPT_BYTES, getsizeof=lambda ids: ids.size))

    def keep(self, user_id: str, ids: KeptIds) -> None:
        """Keep the ids of a user instead of earlier ones, unless they are too many."""
        self.kept.pop(user_id, None)
        if ids.size <= self.kept.maxsize:
            self.kept[user_id] = ids


async def of_all(db: Reading, cache: IdCache, keys: Keys, *, with_attributes: bool) -> AsyncIterator[SignedIds]:
    """The ids of all documents: those that are kept, if they are or become current, or else in portions.

    `with_attributes`: the request tests attributes.
    """
    known = cache.kept.get(db.user_id)
    if known is not None and known.has_attributes:
        with_attributes = True
    elif with_attributes:
        known = None
    kept = await _current(db, known, keys)
    if kept is not None:
        cache.keep(db.user_id, kept)
        for signed in kept.signed:
            yield signed
        return
    change = (await db.execute(sql.statement("last_facet_change"), {"user_id": db.user_id})).one_or_none()
    read: list[DocumentIds] = []
    room = cache.kept.maxsize
    for portion in _portions(keys.most_documents):
        ids = await of_passing(db, Filters(), portion, with_attributes=with_attributes)
        room -= ids.size
        read = [*read, ids] if room > 0 else []
        yield ids, 1
    if room > 0:
        last = (change.place, change.change_id) if change else None
        nothing = DocumentIds.read(b"", Attributes.read(b"", b"") if with_attributes else None)
        cache.keep(db.user_id, KeptIds(db.version, last, read, nothing, nothing))


async def of_passing(
    db: Reading, among: Filters, portion: Mapping[str, UUID] = _ALL, *, with_attributes: bool = False
) -> DocumentIds:
    """The ids of the documents that pass; with empty filters of all."""
    filtering = filters.binds(among)
    chosen = {"filtered": filtering, "portion": portion, "attributes": with_attributes}
    parts = [*filtering, *(part for part, wanted in chosen.items() if wanted)]
    binds = {"user_id": db.user_id, **filtering, **portion}
    row = (await db.execute(sql.statement("ids_of_passing_documents", *parts), binds)).one()
    return await asyncio.to_thread(_read, *row)


def _read(ids: bytes, attributes: bytes | None = None, texts: bytes = b"") -> DocumentIds:
    return DocumentIds.read(ids, None if attributes is None else Attributes.read(attributes, texts))


def _noted(changes: Sequence[Any], side: str, *, with_attributes: bool) -> DocumentIds:
    """The ids of documents that changes have added or removed."""
    columns = [side, *([f"{side}_attributes", f"{side}_texts"] if with_attributes else [])]
    return _read(*(b"".join(getattr(change, column) for change in changes) for column in columns))


async def _current(db: Reading, kept: KeptIds | None, keys: Keys) -> KeptIds | None:
    """What is kept, with the changes until the version of the transaction; None if that is impossible."""
    if kept is None or kept.version == db.version:
        return kept
    if kept.change is None:
        return None
    binds = {"user_id": db.user_id, "place": kept.change[0]}
    changes = (await db.execute(sql.statement("facet_changes"), binds)).all()
    current = await asyncio.to_thread(kept.changed, db.version, changes)
    return current if current is not None and current.agrees(keys) else None


def _portions(documents: int) -> Iterator[Mapping[str, UUID]]:
    """Ranges of ids of documents, which are evenly distributed."""
    number = 1 + documents // PORTION
    bounds = [_LARGEST_ID * place // number for place in range(number + 1)]
    for first, last in itertools.pairwise(bounds):
        yield {"first": UUID(int=first + (first > 0)), "last": UUID(int=last)} if number > 1 else _ALL
