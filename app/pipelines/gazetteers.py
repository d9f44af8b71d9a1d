"""Caches the names of users, and brings them up to date from the changes since.

Every process caches the names of the users it served last with their version. A reader compares the version within its
own transaction and applies the changes since, so that what another worker committed counts at once. Large gazetteers
are built outside the event loop.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.pipelines import offload
from app.store import db, name_changes
from app.store.db import Reading, Writing
from app.text import fuzzy_names, names
from app.text.fuzzy_names import FuzzyNames
from app.text.gazetteer import Entry, Gazetteer

MOST_NAMES = 400_000
"""Most names that a process caches, of all users together; those of the user served last always stay."""
MOST_CHANGES = 2_000
"""Most changes that are applied one by one; after more, all names are read again."""
SHORTEST_PART = 3
"""Letters of a first or last name that is matched by itself: initials match too much."""
COMPARED_AT_ONCE = 50
"""Names that numpy compares with a word in the time of one unit of `offload.run`."""
WORK_A_NAME = 50
"""What adding one name costs, in the units of `offload.run`."""


@dataclass(slots=True)
class UserNames:
    """A user's names at a version. `fuzzy_index` and `parts` are built when they are first needed."""

    version: int
    gazetteer: Gazetteer
    _fuzzy: FuzzyNames | None = None
    _parts: Mapping[str, tuple[str, ...]] | None = None
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fuzzy_index(self) -> FuzzyNames:
        """The index of these names by similarity of spelling."""
        async with self._building:
            if self._fuzzy is None:
                self._fuzzy = await offload.run(self._size(), FuzzyNames.build, list(self.gazetteer.keys()))
            return self._fuzzy

    async def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The keys of several words by their first and their last word."""
        async with self._building:
            if self._parts is None:
                self._parts = await offload.run(self._size(), _by_first_and_last_word, self.gazetteer)
            return self._parts

    def comparing(self, words: Sequence[str]) -> int:
        """What comparing the words of a query with all names costs, in the units of `offload.run`."""
        return min(len(words), fuzzy_names.MAX_WORDS) * len(self.gazetteer) // COMPARED_AT_ONCE

    def _size(self) -> int:
        return WORK_A_NAME * len(self.gazetteer)

    def followed(self, version: int, gazetteer: Gazetteer, keys: set[str]) -> UserNames:
        """The names after the changes of some keys."""
        alike = self._fuzzy
        if alike is not None and alike.changes + len(keys) <= MOST_CHANGES:
            alike = alike.patched([k for k in keys if k in gazetteer], [k for k in keys if k not in gazetteer])
        else:
            alike = None
        return UserNames(version, gazetteer, alike)


class _NameCache:
    """The names of the users served last, on one database."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, UserNames] = OrderedDict()

    def get(self, user_id: str) -> UserNames | None:
        if user_id in self._names:
            self._names.move_to_end(user_id)
        return self._names.get(user_id)

    def put(self, user_id: str, current: UserNames) -> None:
        known = self._names.get(user_id)
        if known is None or known.version <= current.version:
            self._names[user_id] = current
        self._names.move_to_end(user_id)
        while len(self._names) > 1 and sum(len(n.gazetteer) + 1 for n in self._names.values()) > MOST_NAMES:
            self._names.popitem(last=False)


_memories: weakref.WeakKeyDictionary[object, _NameCache] = weakref.WeakKeyDictionary()


async def current(reading: Reading, user_id: str, *, version: int | None = None) -> UserNames:
    """The user's names; they are cached, so the transaction must not have changed any of them.

    `version` is the user's names_version, if the transaction has read it already.
    """
    memory = _memories.setdefault(db.pool_of(reading), _NameCache())
    known = memory.get(user_id)
    found = known if known and known.version == version else await _followed(reading, user_id, known)
    if found is not known:
        memory.put(user_id, found)
    return found


async def uncommitted(writing: Writing, user_id: str) -> UserNames:
    """The user's names as this transaction sees them, with its own changes; never cached."""
    memory = _memories.setdefault(db.pool_of(writing), _NameCache())
    return await _followed(writing, user_id, memory.get(user_id))


async def _followed(reading: Reading, user_id: str, known: UserNames | None) -> UserNames:
    version = await name_changes.version(reading, user_id)
    if known is not None and known.version == version:
        return known
    if known is None or not known.version < version < known.version + name_changes.KEPT:
        return await _read(reading, user_id, version)
    changed = await name_changes.since(reading, user_id, known.version, limit=MOST_CHANGES + 1)
    if len(changed) > MOST_CHANGES:
        return await _read(reading, user_id, version)
    keys = {change.key for change in changed}
    entries = await name_changes.entries_of(reading, user_id, keys)
    size = len(known.gazetteer) + WORK_A_NAME * len(keys)
    return await offload.run(size, _patched, known, version, entries)


def _patched(known: UserNames, version: int, entries: Mapping[str, list[Entry]]) -> UserNames:
    return known.followed(version, known.gazetteer.patched(entries), set(entries))


async def _read(reading: Reading, user_id: str, version: int) -> UserNames:
    if version == 0:
        return UserNames(0, Gazetteer.build(()))
    entries = await name_changes.entries(reading, user_id)
    return UserNames(version, await offload.run(WORK_A_NAME * len(entries), Gazetteer.build, entries))


def _by_first_and_last_word(gazetteer: Gazetteer) -> Mapping[str, tuple[str, ...]]:
    """The keys of names of several words, and of joined ones, by their first and their last word."""
    found: dict[str, dict[str, None]] = {}
    all_keys = gazetteer.keys()
    written = [(key, (key,)) for key in all_keys if " " in key]
    for text, keys in (*written, *gazetteer.split_forms().items()):
        words = text.split(" ")
        for word in (words[0], words[-1]):
            if len(word) >= SHORTEST_PART and names.is_distinctive([word]):
                found.setdefault(word, {}).update(dict.fromkeys(keys))
    return {word: tuple(keys) for word, keys in found.items()}
