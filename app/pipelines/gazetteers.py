"""Which names does a user have now?

Every process remembers the names of the users it served last, with the version they had. Whoever needs them reads the
version in its own transaction and follows the changes since, so that what another worker committed counts at once.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.store import changes, db
from app.store.db import Reading, Writing
from app.text import parts
from app.text.gazetteer import Gazetteer
from app.text.likeness import Likeness

MOST_NAMES = 400_000
"""Names that a process remembers, of all users together; the user who was served last always stays."""
MOST_CHANGES = 2_000
"""Changes that are followed one by one; after more, all names are read again."""
_IN_A_THREAD = 2_000


@dataclass(slots=True)
class Names:
    """A user's names at a version. `likeness` and `parts` are built when they are first wanted."""

    version: int
    gazetteer: Gazetteer
    _likeness: Likeness | None = None
    _parts: Mapping[str, tuple[str, ...]] | None = None
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def likeness(self) -> Likeness:
        """The same names, ready to be resembled."""
        async with self._building:
            if self._likeness is None:
                self._likeness = await asyncio.to_thread(Likeness.build, list(self.gazetteer.keys()))
            return self._likeness

    async def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The keys of several words by their first and their last word."""
        async with self._building:
            if self._parts is None:
                self._parts = await asyncio.to_thread(parts.of, self.gazetteer)
            return self._parts

    def followed(self, version: int, gazetteer: Gazetteer, keys: set[str]) -> Names:
        """The names after the changes of some keys."""
        alike = self._likeness
        if alike is not None and alike.changes + len(keys) <= MOST_CHANGES:
            alike = alike.patched([k for k in keys if k in gazetteer], [k for k in keys if k not in gazetteer])
        else:
            alike = None
        return Names(version, gazetteer, alike)


class _Memory:
    """The names of the users that were served last, on one database."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, Names] = OrderedDict()

    def get(self, user_id: str) -> Names | None:
        if user_id in self._names:
            self._names.move_to_end(user_id)
        return self._names.get(user_id)

    def put(self, user_id: str, names: Names) -> None:
        known = self._names.get(user_id)
        if known is None or known.version <= names.version:
            self._names[user_id] = names
        self._names.move_to_end(user_id)
        while len(self._names) > 1 and sum(len(n.gazetteer) + 1 for n in self._names.values()) > MOST_NAMES:
            self._names.popitem(last=False)


_memories: weakref.WeakKeyDictionary[object, _Memory] = weakref.WeakKeyDictionary()


async def current(reading: Reading, user_id: str, *, version: int | None = None) -> Names:
    """The user's names; remembered, so only for a transaction that changed none of them.

    `version` is the user's names_version where the transaction has read it already.
    """
    memory = _memories.setdefault(db.pool_of(reading), _Memory())
    known = memory.get(user_id)
    found = known if known and known.version == version else await _followed(reading, user_id, known)
    if found is not known:
        memory.put(user_id, found)
    return found


async def within(writing: Writing, user_id: str) -> Names:
    """The user's names as this transaction sees them, its own changes among them; never remembered."""
    memory = _memories.setdefault(db.pool_of(writing), _Memory())
    return await _followed(writing, user_id, memory.get(user_id))


async def _followed(reading: Reading, user_id: str, known: Names | None) -> Names:
    version = await changes.version(reading, user_id)
    if known is not None and known.version == version:
        return known
    if known is None or not known.version < version < known.version + changes.KEPT:
        return await _read(reading, user_id, version)
    changed = await changes.since(reading, user_id, known.version, limit=MOST_CHANGES + 1)
    if len(changed) > MOST_CHANGES:
        return await _read(reading, user_id, version)
    keys = {change.key for change in changed}
    patched = known.gazetteer.patched(await changes.entries_of(reading, user_id, keys))
    return known.followed(version, patched, keys)


async def _read(reading: Reading, user_id: str, version: int) -> Names:
    if version == 0:
        return Names(0, Gazetteer.build(()))
    entries = await changes.entries(reading, user_id)
    if len(entries) < _IN_A_THREAD:
        return Names(version, Gazetteer.build(entries))
    return Names(version, await asyncio.to_thread(Gazetteer.build, entries))
