"""Finds the vectors of chunks: those stored with equal chunks, and computed ones.

No transaction is open while the model computes vectors.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app import errors
from app.concurrency import stage_times
from app.database.schema import reembedding
from app.database.schema.reembedding import StoredModel
from app.database.vectors import VectorValue
from app.documents.store import documents
from app.documents.types import DocumentDraft
from app.models import base
from app.models.base import Embedder
from app.query import model_switch
from app.services import Services

log = logging.getLogger(__name__)
Key = TypeVar("Key")

EMBED_SLICE = 256
"""Chunks that are embedded by one call; the work can be cancelled between two calls."""


@dataclass(frozen=True, slots=True)
class TargetVectors:
    """Vectors by embedding key of the model that is to replace the present one, for the table with this object id."""

    table: int
    by_key: Mapping[UUID, VectorValue]

    def merged(self, other: TargetVectors) -> TargetVectors:
        """The vectors of both, or those of `other` if the table is another one."""
        if not other.by_key:
            return self
        same = self.table == other.table
        return TargetVectors(other.table, {**self.by_key, **other.by_key}) if same else other


NO_TARGET = TargetVectors(0, {})


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """The vectors of all chunks by embedding key; `computed` has the keys of those that the model computed."""

    by_key: Mapping[UUID, VectorValue]
    computed: frozenset[UUID]
    target: TargetVectors = NO_TARGET

    def joined(self, other: ChunkVectors) -> ChunkVectors:
        """The vectors of both; those that `other` computed."""
        return ChunkVectors({**self.by_key, **other.by_key}, other.computed, self.target.merged(other.target))


NONE = ChunkVectors({}, frozenset())


def texts(drafts: Iterable[DocumentDraft], *, besides: Container[UUID] = ()) -> dict[UUID, str]:
    """The embedded texts of the chunks of some documents by embedding key, for the keys that are not in `besides`."""
    chunks = (chunk for draft in drafts for chunk in draft.chunks)
    return {chunk.embedding_key: chunk.embedded for chunk in chunks if chunk.embedding_key not in besides}


async def find(texts: Mapping[UUID, str], user_id: str, services: Services) -> ChunkVectors:
    """The vectors of texts by key: those that are stored with the user's chunks, and computed ones.

    Raises ProviderError, DatabaseUnavailable, DiskFull.
    """
    with stage_times.stage("database"):
        await services.db.check_writable()
        async with services.db.reading(user_id) as reading:
            stored = await documents.known_vectors(reading, keys=list(texts))
            target = await reembedding.target(reading) if reading.vector_tables.next else None
    missing = {key: text for key, text in texts.items() if key not in stored}
    with stage_times.stage("model"):
        new = await computed(missing, services.embedder)
        return ChunkVectors({**stored, **new}, frozenset(new), await _target_vectors(texts, target, services))


async def _target_vectors(texts: Mapping[UUID, str], target: StoredModel | None, services: Services) -> TargetVectors:
    """The vectors of the model that is to replace the present one; none if it fails: a job adds what is missing."""
    switch = model_switch.of(services.embedder)
    embedder = switch.configured(target) if switch and target else None
    if target is None or embedder is None:
        return NO_TARGET
    try:
        return TargetVectors(target.table, await computed(texts, embedder))
    except errors.ProviderError as error:
        log.warning("vectors of the next model were not computed: %s", error.code, extra={"action": "target_failed"})
        return NO_TARGET


async def computed(texts: Mapping[Key, str], embedder: Embedder) -> dict[Key, array[float]]:
    """The vectors of texts by key as 32-bit floats. Raises ProviderError."""
    vectors: dict[Key, array[float]] = {}
    keys = list(texts)
    for start in range(0, len(keys), EMBED_SLICE):
        some = keys[start : start + EMBED_SLICE]
        raw = await embedder.embed_documents([texts[key] for key in some])
        usable = base.unit_arrays(raw, count=len(some), dimension=embedder.model.dimension)
        vectors |= dict(zip(some, usable, strict=True))
    return vectors
