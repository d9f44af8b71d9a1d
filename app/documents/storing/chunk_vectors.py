"""Finds the vectors of chunks: those stored with equal chunks, and computed ones.

No transaction is open while the model computes vectors.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from app import errors
from app.concurrency import retries
from app.database.schema import reembedding
from app.database.schema.reembedding import StoredModel
from app.database.transactions import Writing
from app.database.vectors import VectorValue
from app.documents.store import documents
from app.documents.types import DocumentDraft
from app.models import base
from app.models.base import Embedder, EmbeddingModel
from app.query import model_switch
from app.services import Services

log = logging.getLogger(__name__)
Key = TypeVar("Key")

EMBED_SLICE = 256
"""Chunks that are embedded by one call; the work can be cancelled between two calls."""


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Vectors by embedding key that need not be computed.

    `target` is the model whose vectors are computed to replace those of the present one, and are needed too.
    """

    by_key: Mapping[UUID, VectorValue]
    target: StoredModel | None = None


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


@dataclass(slots=True)
class DraftVectors:
    """Finds the vectors of a user's drafts, and finds them again once another model has replaced the one in use.

    Attributes:
        retry_s: How long a look-up is repeated while the database is unavailable.
        known: The stored vectors that were looked up for the next call of `find`, by the model that computed them.
        model: The model that computed the vectors which were found.
        by_key: These vectors by embedding key, as Postgres reads them or as 32-bit floats.
        target: The vectors of the model that is to replace it.
        uncounted: The keys of computed vectors that no document has counted.
    """

    user_id: str
    services: Services
    retry_s: float
    known: dict[EmbeddingModel, KnownVectors] = field(default_factory=dict)
    model: EmbeddingModel | None = None
    by_key: dict[UUID, VectorValue] = field(default_factory=dict)
    target: TargetVectors = NO_TARGET
    uncounted: set[UUID] = field(default_factory=set)

    async def look_up(self, drafts: Iterable[DocumentDraft]) -> None:
        """Look up the vectors of chunks that need not be computed, ahead of `find`. Raises DatabaseUnavailable."""
        if wanted := texts(drafts):
            work = partial(self._look_up, wanted)
            await model_switch.run(self.services.embedder, self.services.db, work)

    async def find(self, drafts: Iterable[DocumentDraft]) -> ChunkVectors:
        """Read or compute the vectors of all chunks that were not found before; returns those of all calls.

        Raises ProviderError, DatabaseUnavailable, DiskFull.
        """
        return await model_switch.run(self.services.embedder, self.services.db, partial(self._find, texts(drafts)))

    def count(self, draft: DocumentDraft) -> int:
        """How many vectors were computed for a draft that was written, and not for one before it."""
        new = {chunk.embedding_key for chunk in draft.chunks} & self.uncounted
        self.uncounted -= new
        return len(new)

    async def _look_up(self, wanted: Mapping[UUID, str]) -> None:
        found = await retries.while_unavailable(self.retry_s, known, wanted, self.user_id, self.services)
        self.known[self.services.embedder.model] = found

    async def _find(self, wanted: Mapping[UUID, str]) -> ChunkVectors:
        if (model := self.services.embedder.model) != self.model:
            self.model, self.by_key, self.target = model, {}, NO_TARGET
        unknown = {key: text for key, text in wanted.items() if key not in self.by_key}
        new: frozenset[UUID] = frozenset()
        if unknown:
            await self.services.db.check_writable()
            if model not in self.known:
                await self._look_up(unknown)
            found = await complete(unknown, self.known.pop(model), self.services)
            self.by_key.update(found.by_key)
            self.target, new = self.target.merged(found.target), found.computed
            self.uncounted.update(new)
        return ChunkVectors(self.by_key, new, self.target)


def texts(drafts: Iterable[DocumentDraft]) -> dict[UUID, str]:
    """The embedded texts of the chunks of some documents, by embedding key."""
    return {chunk.embedding_key: chunk.embedded for draft in drafts for chunk in draft.chunks}


async def find(texts: Mapping[UUID, str], user_id: str, services: Services) -> ChunkVectors:
    """The vectors of texts by key, computed where no chunk has them. Raises ProviderError, DatabaseUnavailable."""
    return await complete(texts, await known(texts, user_id, services), services)


async def known(texts: Mapping[UUID, str], user_id: str, services: Services) -> KnownVectors:
    """The vectors that are stored with the user's chunks. Raises DatabaseUnavailable."""
    async with services.db.reading(user_id) as reading:
        stored = await documents.known_vectors(reading, keys=list(texts))
        target = await reembedding.target(reading) if reading.vector_tables.next else None
    return KnownVectors(stored, target)


async def complete(texts: Mapping[UUID, str], known: KnownVectors, services: Services) -> ChunkVectors:
    """Compute the vectors that are not known. Raises ProviderError."""
    missing = {key: text for key, text in texts.items() if key not in known.by_key}
    new = await computed(missing, services.embedder)
    target = await _target_vectors(texts, known.target, services)
    return ChunkVectors({**known.by_key, **new}, frozenset(new), target)


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


async def store_target(db: Writing, document_ids: Sequence[UUID], target: TargetVectors) -> None:
    """Store the vectors of the model that is to replace the present one, in the transaction that stores documents."""
    await reembedding.add_documents(db, document_ids, target.by_key, table=target.table)


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
