"""Caches the gazetteers of users, and applies later changes to them.

A process caches the names of its most recent users with their version. A transaction compares this version with the
stored version and applies the changes in between, so that a commit of another process takes effect at once. Large
gazetteers are built outside the event loop.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from cachetools import LRUCache

from app.concurrency import offload
from app.database.transactions import Reading, Writing
from app.entities.store import name_changes
from app.text.names import fuzzy_names, names
from app.text.names.gazetteer import Entry, Gazetteer

MAX_NAMES = 400_000
"""Most names that a process caches, for all users together, as `cached_size` counts them: 270 MB. The names of the most
recent user always stay."""
FIRST_NAMES = 400
"""Names of a user that count four times, because most of them add trigrams to the index that no other name has."""
MAX_CHANGES = 2_000
"""Most changes that are applied one by one. If there are more, all names are read again, as they are once this many
more names were removed than are left: the words of removed names stay in the gazetteer."""
MIN_PART_LENGTH = 3
"""Least length of a first or last name that is matched alone. Initials would match too often."""
COMPARISONS_PER_UNIT = 50
"""Number of names that numpy compares with a word in one unit of `offload.run`."""
NAME_COST = 50
"""Cost of adding one name, in units of `offload.run`."""


@dataclass(slots=True)
class UserNames:
    """A user's names at a version. `fuzzy_index` and `parts` are built on first use.

    `since` is the time of the user's first write: another one is that of another user, of the name of a deleted one.
    """

    version: int
    gazetteer: Gazetteer
    since: datetime | None = None
    _fuzzy: fuzzy_names.FuzzyNames | None = None
    _parts: Mapping[str, tuple[str, ...]] | None = None
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fuzzy_index(self) -> fuzzy_names.FuzzyNames:
        """The index that finds names of similar spelling."""
        async with self._building:
            if self._fuzzy is None:
                self._fuzzy = await offload.run(self._size(), fuzzy_names.FuzzyNames.build, list(self.gazetteer.keys()))
            return self._fuzzy

    async def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The keys of names with several words, by first and by last word."""
        async with self._building:
            if self._parts is None:
                self._parts = await offload.run(self._size(), _by_first_and_last_word, self.gazetteer)
            return self._parts

    def comparison_cost(self, words: Sequence[str]) -> int:
        """The cost of comparing the words of a query with all names, in units of `offload.run`."""
        return min(len(words), fuzzy_names.MAX_WORDS) * len(self.gazetteer) // COMPARISONS_PER_UNIT

    def _size(self) -> int:
        return NAME_COST * len(self.gazetteer)

    def updated(self, version: int, entries: Mapping[str, list[Entry]]) -> UserNames:
        """The names at a later version. `entries` has the changed names by key; a removed key has an empty list."""
        if not any(entries.values()) and not any(key in self.gazetteer for key in entries):
            return replace(self, version=version)
        gazetteer, fuzzy = self.gazetteer.patched(entries), self._fuzzy
        if fuzzy is not None and fuzzy.changes + len(entries) <= MAX_CHANGES:
            fuzzy = fuzzy.patched([k for k in entries if k in gazetteer], [k for k in entries if k not in gazetteer])
        else:
            fuzzy = None
        return UserNames(version, gazetteer, self.since, fuzzy)


_caches: weakref.WeakKeyDictionary[object, LRUCache[str, UserNames]] = weakref.WeakKeyDictionary()
"""The names of the most recent users of each database."""

_turns: weakref.WeakValueDictionary[tuple[object, str], asyncio.Lock] = weakref.WeakValueDictionary()
"""Locks by database and user: many names are read once for all searches that wait for them."""


def _cache(db: Reading) -> LRUCache[str, UserNames]:
    return _caches.setdefault(db.database_key, LRUCache(MAX_NAMES, getsizeof=cached_size))


def cached_size(names: UserNames) -> int:
    """The memory of a user's names with their indexes, in names of a large gazetteer: about 700 bytes each."""
    count = len(names.gazetteer)
    return min(MAX_NAMES, 20 + count + 3 * min(count, FIRST_NAMES))


async def current(reading: Reading, *, version: int | None = None) -> UserNames:
    """All names of the user, including names that a restricted caller does not see (`visible` omits these).

    They are cached, so the transaction must not have changed any of them. Give `version`, the user's names_version, if
    the transaction has read it already.
    """
    cache = _cache(reading)
    cached = cache.get(reading.user_id)
    if cached is not None and cached.version == version:
        return cached
    async with _turns.setdefault((reading.database_key, reading.user_id), asyncio.Lock()):
        newest = cache.get(reading.user_id)
        current_names = await _up_to_date(reading, newest)
        if newest is None or newest.version <= current_names.version:
            cache[reading.user_id] = current_names
        return current_names


async def visible(reading: Reading, text: str) -> UserNames:
    """The names that the caller sees. For a restricted caller, only the names that a text may contain or resemble.

    All names of the user that may match are nominated, then the invisible ones are dropped, and matching chooses among
    the rest. A hidden name thus never takes the place of a visible one.
    """
    all_names = await current(reading, version=reading.version.names)
    if reading.restriction is None or not len(all_names.gazetteer):
        return all_names
    nominated = all_names.gazetteer.find_all(text)
    fuzzy, words = await all_names.fuzzy_index(), names.words(text)
    nominated |= await offload.run(all_names.comparison_cost(words), fuzzy.passing, text)
    parts = await all_names.parts()
    for word in words[: fuzzy_names.MAX_WORDS]:
        nominated.update(parts.get(word, ()))
    found = await name_changes.entries_of(reading, nominated)
    return UserNames(all_names.version, Gazetteer.build(chain.from_iterable(found.values())))


async def similar(reading: Reading, text: str, *, limit: int) -> list[tuple[str, float]]:
    """Up to `limit` keys of names that resemble a short text, most similar first; see `visible`."""
    fuzzy = await (await current(reading)).fuzzy_index()
    if reading.restriction is None:
        return fuzzy.similar(text, limit)
    found = await name_changes.entries_of(reading, fuzzy.comparable(text))
    return fuzzy_names.FuzzyNames.build(key for key, entries in found.items() if entries).similar(text, limit)


async def uncommitted(writing: Writing) -> UserNames:
    """The user's names with the changes of this transaction. They are not cached."""
    return await _up_to_date(writing, _cache(writing).get(writing.user_id))


async def _up_to_date(reading: Reading, cached: UserNames | None) -> UserNames:
    """The names at the stored version: the cached names with later changes, or all names read again."""
    version, since, kept_from = await name_changes.version(reading)
    if cached is None or cached.since != since:
        return await _read(reading, version, since)
    if cached.version == version:
        return cached
    has_many_gone = cached.gazetteer.removed > len(cached.gazetteer) + MAX_CHANGES
    if has_many_gone or not kept_from < cached.version < version:
        return await _read(reading, version, since)
    entries = await name_changes.changed_entries(reading, cached.version, limit=MAX_CHANGES + 1)
    if len(entries) > MAX_CHANGES:
        return await _read(reading, version, since)
    size = len(cached.gazetteer) + NAME_COST * len(entries)
    return await offload.run(size, cached.updated, version, entries)


async def _read(reading: Reading, version: int, since: datetime | None) -> UserNames:
    if version == 0:
        return UserNames(0, Gazetteer.build(()), since)
    entries = await name_changes.entries(reading)
    return UserNames(version, await offload.run(NAME_COST * len(entries), Gazetteer.build, entries), since)


def _by_first_and_last_word(gazetteer: Gazetteer) -> Mapping[str, tuple[str, ...]]:
    """The keys of names with several words, written apart or joined, by first and by last word."""
    found: dict[str, dict[str, None]] = {}
    all_keys = gazetteer.keys()
    written = [(key, (key,)) for key in all_keys if " " in key]
    for text, keys in (*written, *gazetteer.split_forms().items()):
        words = text.split(" ")
        for word in (words[0], words[-1]):
            if len(word) >= MIN_PART_LENGTH and names.is_distinctive([word]):
                found.setdefault(word, {}).update(dict.fromkeys(keys))
    return {word: tuple(keys) for word, keys in found.items()}
