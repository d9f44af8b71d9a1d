"""Counts the ids of keys and values of documents.

The ids of a document are 0, then for each key the negative id of the key with the type of its value, followed by the
ids of its values (`ids_of_documents.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by type, in parallel and in their order, and the largest ids of a key and of a value of the user."""

    keys: Sequence[str]
    types: Sequence[str]
    ids: Sequence[int]
    last_key: int
    last_value: int


def ids_in(stored: bytes) -> NDArray[np.int32]:
    """Ids as they are stored."""
    return np.frombuffer(stored, ">i4").astype(np.int32)


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """The ids of the values and keys of documents, in parallel with the number of the document that has each.

    `key_of` is the id of the key of each value, by the id of the value.
    """

    values: NDArray[np.int32]
    document_of_value: NDArray[np.int32]
    keys: NDArray[np.int32]
    document_of_key: NDArray[np.int32]
    key_of: NDArray[np.int32]

    @classmethod
    def read(cls, stored: bytes) -> DocumentIds:
        """Ids as they are stored, one document after the other."""
        ids = ids_in(stored)
        document, before = (np.cumsum(each, dtype=np.int32) for each in (ids == 0, ids < 0))
        # Taking places is several times faster than a mask.
        of_values, of_keys = np.flatnonzero(ids > 0), np.flatnonzero(ids < 0)
        values, keys = ids.take(of_values), -ids.take(of_keys)
        key_of = np.zeros(int(values.max(initial=0)) + 1, np.int32)
        key_of[values] = keys.take(before.take(of_values) - 1)
        return cls(values, document.take(of_values), keys, document.take(of_keys), key_of)

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sum(getattr(self, column.name).nbytes for column in fields(self))

    def meeting(self, conditions: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Which documents have, for each condition, one of its values."""
        documents = int(self.document_of_key.max(initial=0)) + 1
        meets_all = np.ones(documents, bool)
        for wanted in conditions:
            allowed, meets = np.zeros(self.key_of.size, bool), np.zeros(documents, bool)
            allowed[[id_ for id_ in wanted if id_ < allowed.size]] = True
            meets[self.document_of_value.take(np.flatnonzero(allowed.take(self.values)))] = True
            meets_all &= meets
        return meets_all


class Tally:
    """The numbers of documents by key and value, among those that meet all conditions.

    A condition lists the ids of values of which a document must have one. With `only`, other values are not counted.
    """

    def __init__(self, keys: Keys, conditions: Sequence[Sequence[int]], only: NDArray[np.int32] | None = None) -> None:
        self._keys = keys
        self._conditions = conditions
        self._only = only
        self._counts = np.zeros(keys.last_value + 1, np.int64)
        self._of_keys = np.zeros(keys.last_key + 1, np.int64)
        self._key_of = np.zeros(keys.last_value + 1, np.int32)

    def add(self, ids: DocumentIds) -> None:
        """Count the documents that have these ids."""
        values, keys = ids.values, ids.keys
        if self._conditions:
            meets = ids.meeting(self._conditions)
            values = values.take(np.flatnonzero(meets.take(ids.document_of_value)))
            keys = keys.take(np.flatnonzero(meets.take(ids.document_of_key)))
        self._counts += np.bincount(values, minlength=self._counts.size)
        self._of_keys += np.bincount(keys, minlength=self._of_keys.size)
        known = self._key_of[: ids.key_of.size]
        np.maximum(known, ids.key_of, out=known)

    def keys_of_most(self, most: int) -> dict[str, dict[str, int]]:
        """The numbers of documents by type, of so many keys: those that most documents have, then in their order."""
        found: dict[str, dict[str, int]] = {}
        for key, type_, id_ in zip(self._keys.keys, self._keys.types, self._keys.ids, strict=True):
            if documents := int(self._of_keys[id_]):
                found.setdefault(key, {})[type_] = documents
        return dict(sorted(found.items(), key=lambda item: -sum(item[1].values()))[:most])

    def documents(self, value: int) -> int:
        """The number of documents that have a value."""
        return int(self._counts[value])

    def distinct(self, key: str) -> int:
        """The number of values of a key."""
        return int(self._of(key).size)

    def commonest(self, key: str, limit: int) -> tuple[list[int], NDArray[np.int32], int]:
        """The values of a key that are surely among its commonest, those equally frequent, and how many of them are."""
        values = self._of(key)
        counts = self._counts[values]
        if values.size <= limit or not limit:
            return values[:limit].tolist(), values[:0], 0
        least = np.partition(counts, -limit)[-limit]
        surely = values[counts > least]
        return surely.tolist(), values[counts == least], limit - surely.size

    def bits(self, *values: NDArray[np.int32]) -> bytes:
        """A bit for each id of a value, as `get_bit` reads them: 1 for these values."""
        marked = np.zeros(self._counts.size, bool)
        for some in values:
            marked[some] = True
        return np.packbits(marked, bitorder="little").tobytes()

    def _of(self, key: str) -> NDArray[np.int32]:
        """The values of a key that documents have."""
        return self._values_by_key.get(key, np.empty(0, np.int32))

    @cached_property
    def _values_by_key(self) -> dict[str, NDArray[np.int32]]:
        """The values that documents have, by key. Read when all documents are counted."""
        names = {id_: key for key, id_ in zip(self._keys.keys, self._keys.ids, strict=True)}
        counted = np.flatnonzero(self._counts)
        if self._only is not None:
            counted = np.intersect1d(counted, self._only)
        of_keys = self._key_of[counted]
        found: dict[str, list[NDArray[np.int32]]] = {}
        for id_ in np.unique(of_keys).tolist():
            if id_ in names:
                found.setdefault(names[id_], []).append(counted[of_keys == id_].astype(np.int32))
        return {key: np.concatenate(several) for key, several in found.items()}
