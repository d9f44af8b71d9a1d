"""Tests attributes of many documents at once: when they were created, their sources, URIs and the names of their files.

Each test gives what the SQL of `passes_filters` does. Stored are, in the same order, 24 bytes a document and two texts
(`attributes_of_documents.sql`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
_FIXED = np.dtype([("created_at", ">i8"), ("source_id", "S16")])
_LOWER = np.frombuffer(bytes(range(256)).lower(), np.uint8)
_NEWLINE, _FRAGMENT = b"\n#"


@dataclass(frozen=True, slots=True)
class Attributes:
    """When documents were created, in microseconds since 1970, the places of their sources in `source_ids`, and texts.

    These are two of each document, in UTF-8, and each ends with a zero byte, at `ends`: its URI, and the name of its
    file in the metadata. Both are empty if there is none; the id of no source is zero.
    """

    created_at: NDArray[np.int64]
    sources: NDArray[np.intp]
    source_ids: NDArray[np.bytes_]
    texts: NDArray[np.uint8]
    ends: NDArray[np.intp]

    @classmethod
    def read(cls, attributes: bytes, texts: bytes) -> Attributes:
        """Attributes as they are stored, one document after the other."""
        fixed, characters = np.frombuffer(attributes, _FIXED), np.frombuffer(texts, np.uint8)
        source_ids, sources = np.unique(fixed["source_id"], return_inverse=True)
        return cls(
            fixed["created_at"].astype(np.int64), sources, source_ids, characters, np.flatnonzero(characters == 0)
        )

    @classmethod
    def joined(cls, first: Attributes, second: Attributes) -> Attributes:
        """The attributes of the documents of both."""
        return cls(
            np.concatenate([first.created_at, second.created_at]),
            np.concatenate([first.sources, second.sources + first.source_ids.size]),
            np.concatenate([first.source_ids, second.source_ids]),
            np.concatenate([first.texts, second.texts]),
            np.concatenate([first.ends, second.ends + first.texts.size]),
        )

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.created_at.size

    @property
    def size(self) -> int:
        """Bytes of memory."""
        columns = (self.created_at, self.sources, self.source_ids, self.texts, self.ends)
        return sum(column.nbytes for column in columns)

    def created_from(self, moment: int) -> Mask:
        """Which were created at a time in microseconds since 1970, or later."""
        return self.created_at >= moment

    def created_before(self, moment: int) -> Mask:
        """Which were created before a time in microseconds since 1970."""
        return self.created_at < moment

    def of_sources(self, source_ids: Collection[UUID]) -> Mask:
        """Which come from one of the sources."""
        wanted = np.array([source_id.bytes for source_id in source_ids if source_id.int], "S16")
        of_sources: Mask = np.isin(self.source_ids, wanted)[self.sources]
        return of_sources

    def begin(self, prefixes: Iterable[str]) -> Mask:
        """Which have a URI that begins with one of the prefixes, none of which is empty."""
        starts, ends = self._starts[::2], self.ends[::2]
        begin = np.zeros(starts.size, bool)
        for prefix in (each.encode() for each in prefixes):
            fitting = np.flatnonzero(ends - starts >= len(prefix))
            if fitting.size:
                # Each place of the texts as the beginning of a text of this length.
                openings = np.ndarray(self.texts.size - len(prefix) + 1, f"S{len(prefix)}", self.texts, strides=(1,))
                begin[fitting] |= openings[starts[fitting]] == prefix
        return begin

    def have_suffix(self, suffixes: Iterable[str]) -> Mask:
        """Which have a URI or a file with one of the suffixes, in any case; a fragment on the same line may follow."""
        texts, ends = self._ends_of_names()
        last = _LOWER[self.texts[ends - 1]]
        having = np.zeros(self.ends.size, bool)
        for suffix in (f".{each}".encode() for each in suffixes):
            # A zero byte, which precedes each text, ends the comparison.
            some = np.flatnonzero(last == suffix[-1])
            for place in range(2, len(suffix) + 1):
                some = some[_LOWER[self.texts[ends[some] - place]] == suffix[-place]]
            having[texts[some]] = True
        return having[::2] | having[1::2]

    def _ends_of_names(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where a suffix may end, and in which text: at the end of each, and before each fragment on its last line."""
        fragments, breaks = (np.flatnonzero(self.texts == character) for character in (_FRAGMENT, _NEWLINE))
        of_fragments = np.searchsorted(self.ends, fragments)
        if breaks.size:
            last_break = np.full(self.ends.size, -1)
            last_break[np.searchsorted(self.ends, breaks)] = breaks
            on_last_line = fragments > last_break[of_fragments]
            fragments, of_fragments = fragments[on_last_line], of_fragments[on_last_line]
        texts = np.concatenate([np.arange(self.ends.size), of_fragments])
        return texts, np.concatenate([self.ends, fragments])

    @property
    def _starts(self) -> NDArray[np.intp]:
        return np.concatenate([[0], self.ends[:-1] + 1]) if self.ends.size else self.ends
