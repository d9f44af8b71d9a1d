"""Counts the ids of keys and values of documents.

The ids of a document are 0, then for each key the negative id of the key with the type of its value, followed by the
ids of its values (`ids_of_documents.sql`). In memory they are codes: twice the id of a value, and one more than twice
the id of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.store.facets.document_attributes import Attributes
from app.store.facets.facet_conditions import Conditions

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by type, in parallel and in their order, with the numbers of all documents that have them.

    `last_key` and `last_value` are the largest ids of a key and of a value of the user, `most_documents` is the largest
    number of documents that have any key.
    """

    keys: Sequence[str]
    types: Sequence[str]
    ids: Sequence[int]
    documents: Sequence[int]
    last_key: int
    last_value: int
    most_documents: int


def ids_in(stored: bytes) -> Ids:
    """Ids as they are stored."""
    return np.frombuffer(stored, ">i4").astype(np.int32)


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """The codes of documents, one document after the other, each of which begins with 0, and where each begins.

    `key_of` is the id of the key of each value, by the id of the value, and `totals` the number of documents that have
    a code. `attributes` are those of the documents, if a request has tested any.
    """

    codes: Ids
    starts: NDArray[np.int64]
    key_of: Ids
    totals: Ids
    attributes: Attributes | None = None

    @classmethod
    def read(cls, stored: bytes, attributes: Attributes | None = None) -> DocumentIds:
        """Ids as they are stored, one document after the other, with the attributes of the documents."""
        ids = ids_in(stored)
        # Taking places is several times faster than a mask.
        of_keys, of_values = np.flatnonzero(ids < 0), np.flatnonzero(ids > 0)
        keys = -ids.take(of_keys)
        key_of = np.zeros(int(ids.max(initial=0)) + 1, np.int32)
        if of_values.size:
            # The key before each place, from the first key on.
            before = np.repeat(keys, np.diff(of_keys, append=ids.size))
            key_of[ids.take(of_values)] = before.take(of_values - of_keys[0])
        codes = np.abs(ids)
        codes <<= 1
        codes |= ids < 0
        return cls(codes, np.flatnonzero(ids == 0), key_of, np.bincount(codes).astype(np.int32), attributes)

    @classmethod
    def joined(cls, first: DocumentIds, second: DocumentIds) -> DocumentIds:
        """The ids of the documents of both; of values with one id, `key_of` is that of the second."""
        key_of, totals = (
            np.zeros(max(len(one), len(other)), np.int32)
            for one, other in ((first.key_of, second.key_of), (first.totals, second.totals))
        )
        for ids in (first, second):
            known = np.flatnonzero(ids.key_of)
            key_of[known] = ids.key_of[known]
            totals[: len(ids.totals)] += ids.totals
        codes = np.concatenate([first.codes, second.codes])
        starts = np.concatenate([first.starts, second.starts + len(first.codes)])
        attributes = None
        if first.attributes is not None and second.attributes is not None:
            attributes = Attributes.joined(first.attributes, second.attributes)
        return cls(codes, starts, key_of, totals, attributes)

    def documents_with(self, key: int) -> int:
        """The number of documents that have a key."""
        return int(self.totals[2 * key + 1]) if 2 * key + 1 < len(self.totals) else 0

    @property
    def size(self) -> int:
        """Bytes of memory."""
        columns = (self.codes, self.starts, self.key_of, self.totals)
        return sum(column.nbytes for column in columns) + (self.attributes.size if self.attributes else 0)

    def counts(self, conditions: Conditions | None) -> NDArray[np.integer[Any]]:
        """The number of documents that have a code, by the code, among those that meet the conditions."""
        if conditions is None:
            return self.totals
        masks = self._having(conditions.codes)
        for place, test in conditions.tests.items():
            assert self.attributes is not None
            masks[place] = test(self.attributes)
        meets = conditions.root.meets(masks)
        is_most = 2 * np.count_nonzero(meets) > meets.size
        lengths = np.diff(self.starts, append=self.codes.size)
        fewer = np.bincount(self.codes[np.repeat(meets ^ is_most, lengths)], minlength=self.totals.size)
        return self.totals - fewer if is_most else fewer

    def _having(self, lists: Sequence[Ids]) -> list[NDArray[np.bool_]]:
        """Which documents have one of the codes of each list. Eight lists are looked for at once."""
        found = [np.zeros(self.starts.size, bool)] * len(lists)
        looked_for = [place for place, wanted in enumerate(lists) if wanted.size]
        for first in range(0, len(looked_for), 8):
            places = looked_for[first : first + 8]
            bits = np.zeros(self.totals.size, np.uint8)
            for bit, wanted in enumerate(lists[place] for place in places):
                bits[wanted[wanted < bits.size]] |= 1 << bit
            having = np.bitwise_or.reduceat(bits.take(self.codes), self.starts)
            for bit, place in enumerate(places):
                found[place] = (having & 1 << bit).astype(bool)
        return found


SignedIds = tuple[DocumentIds, int]
"""Ids of documents, and 1; or -1 if the documents no longer have them."""


class Tally:
    """The numbers of documents by key and value, among those that meet the conditions, if there are any.

    With `only`, other values are not counted.
    """

    def __init__(self, keys: Keys, conditions: Conditions | None, only: Ids | None = None) -> None:
        self._keys = keys
        self._conditions = conditions
        self._only = only
        self._counts = np.zeros(2 * max(keys.last_key, keys.last_value) + 2, np.int64)
        self._key_of = np.zeros(keys.last_value + 1, np.int32)

    def add(self, ids: DocumentIds, sign: int = 1) -> None:
        """Count the documents that have these ids; with -1 no longer."""
        if not ids.starts.size:
            return
        found = ids.counts(self._conditions)
        if found.size > self._counts.size:  # a value that no document has any more had a larger id
            self._counts = np.pad(self._counts, (0, found.size - self._counts.size))
        counts = self._counts[: found.size]
        if sign > 0:
            counts += found
        else:
            counts -= found
        if sign > 0:
            known = np.flatnonzero(ids.key_of[: self._key_of.size])
            self._key_of[known] = ids.key_of[known]

    def keys_of_most(self, most: int) -> dict[str, dict[str, int]]:
        """The numbers of documents by type, of so many keys: those that most documents have, then in their order."""
        found: dict[str, dict[str, int]] = {}
        for key, type_, id_ in zip(self._keys.keys, self._keys.types, self._keys.ids, strict=True):
            if documents := int(self._counts[2 * id_ + 1]):
                found.setdefault(key, {})[type_] = documents
        return dict(sorted(found.items(), key=lambda item: -sum(item[1].values()))[:most])

    def documents(self, value: int) -> int:
        """The number of documents that have a value."""
        return int(self._counts[2 * value])

    def distinct(self, key: str) -> int:
        """The number of values of a key."""
        return int(self._of(key).size)

    def commonest(self, key: str, limit: int) -> tuple[list[int], Ids, int]:
        """The values of a key that are surely among its commonest, those equally frequent, and how many of them are."""
        values = self._of(key)
        counts = self._counts[2 * values]
        if values.size <= limit or not limit:
            return values[:limit].tolist(), values[:0], 0
        least = np.partition(counts, -limit)[-limit]
        surely = values[counts > least]
        return surely.tolist(), values[counts == least], limit - surely.size

    def bits(self, *values: Ids) -> bytes:
        """A bit for each id of a value, as `get_bit` reads them: 1 for these values."""
        marked = np.zeros(self._key_of.size, bool)
        for some in values:
            marked[some] = True
        return np.packbits(marked, bitorder="little").tobytes()

    def _of(self, key: str) -> Ids:
        """The values of a key that documents have."""
        return self._values_by_key.get(key, np.empty(0, np.int32))

    @cached_property
    def _values_by_key(self) -> dict[str, Ids]:
        """The values that documents have, by key. Read when all documents are counted."""
        names = {id_: key for key, id_ in zip(self._keys.keys, self._keys.ids, strict=True)}
        counted = np.flatnonzero(self._counts[::2])[1:]
        if self._only is not None:
            counted = np.intersect1d(counted, self._only)
        of_keys = self._key_of[counted]
        found: dict[str, list[Ids]] = {}
        for id_ in np.unique(of_keys).tolist():
            if id_ in names:
                found.setdefault(names[id_], []).append(counted[of_keys == id_].astype(np.int32))
        return {key: np.concatenate(several) for key, several in found.items()}
