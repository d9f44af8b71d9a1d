"""Finds the vectors of chunks: those stored with equal chunks, those in the user's cache, and computed ones.

No transaction is open while the model computes vectors.
"""

from __future__ import annotations

import hashlib
import logging
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from app import errors
from app.pipelines.services import Services
from app.providers import base
from app.providers.base import Embedder
from app.shapes import DocumentDraft
from app.store import documents, embedding_cache
from app.store.document_rows import VectorValue
from app.store.embedding_cache import CachedModel

log = logging.getLogger(__name__)

EMBED_SLICE = 256
"""Chunks that are embedded by one call; the work can be cancelled between two calls."""


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Vectors by embedding key that need not be computed; `cached` has the keys of those from the cache."""

    by_key: Mapping[UUID, VectorValue]
    cached: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """The vectors of all chunks by embedding key; `computed` has the keys of those that the model computed."""

    by_key: Mapping[UUID, VectorValue]
    computed: frozenset[UUID]


def texts(drafts: Iterable[DocumentDraft]) -> dict[UUID, str]:
    """The embedded texts of the chunks of some documents, by embedding key."""
    return {chunk.embedding_key: chunk.embedded for draft in drafts for chunk in draft.chunks}


async def find(texts: Mapping[UUID, str], user_id: str, services: Services) -> ChunkVectors:
    """The vectors of texts by key, computed where neither a chunk nor the cache has them.

    Raises ProviderError, DatabaseUnavailable.
    """
    return await complete(texts, await known(texts, user_id, services), user_id, services)


async def known(texts: Mapping[UUID, str], user_id: str, services: Services) -> KnownVectors:
    """The vectors that are stored with the user's chunks or in the user's cache. Raises DatabaseUnavailable."""
    async with services.db.reading(user_id) as reading:
        stored = await documents.known_vectors(reading, user_id, keys=list(texts))
        hashes = {key: _hash(text) for key, text in texts.items() if key not in stored} if services.cache.size else {}
        found = {}
        if hashes:
            model = _cached_model(services.embedder)
            found = await embedding_cache.find(reading, user_id, model, list(hashes.values()))
    cached = {key: found[text_hash] for key, text_hash in hashes.items() if text_hash in found}
    return KnownVectors({**stored, **cached}, frozenset(cached))


async def complete(texts: Mapping[UUID, str], known: KnownVectors, user_id: str, services: Services) -> ChunkVectors:
    """Compute the vectors that are not known, and cache them. Raises ProviderError."""
    missing = {key: text for key, text in texts.items() if key not in known.by_key}
    new = await computed(missing, services.embedder)
    if services.cache.size:
        services.cache.hits += len(known.cached)
        services.cache.misses += len(missing)
        used = [_hash(texts[key]) for key in known.cached]
        await _cache(used, {_hash(missing[key]): vector for key, vector in new.items()}, user_id, services)
    return ChunkVectors({**known.by_key, **new}, frozenset(new))


async def computed(texts: Mapping[UUID, str], embedder: Embedder) -> dict[UUID, array[float]]:
    """The vectors of texts by key as 32-bit floats, which take an eighth of the memory of a list.

    Raises ProviderError.
    """
    vectors: dict[UUID, array[float]] = {}
    keys = list(texts)
    for start in range(0, len(keys), EMBED_SLICE):
        some = keys[start : start + EMBED_SLICE]
        raw = await embedder.embed_documents([texts[key] for key in some])
        usable = base.unit_vectors(raw, count=len(some), dimension=embedder.model.dimension)
        vectors |= {key: array("f", vector) for key, vector in zip(some, usable, strict=True)}
    return vectors


async def _cache(used: list[UUID], new: Mapping[UUID, VectorValue], user_id: str, services: Services) -> None:
    """Count the uses of cached vectors, and add computed ones. A failure is logged: the cache is not needed."""
    if not (used or new):
        return
    model = _cached_model(services.embedder)
    try:
        async with services.db.writing(user_id) as writing:
            await embedding_cache.record_hits(writing, user_id, model, used)
            await embedding_cache.add(writing, user_id, model, new)
            await embedding_cache.evict(writing, user_id, most=services.cache.size)
    except errors.StepwellError as error:
        log.warning("vectors were not cached: %s", error.code, extra={"action": "vectors_not_cached"})


def _cached_model(embedder: Embedder) -> CachedModel:
    return CachedModel(embedder.model.name, embedder.model.dimension)


def _hash(text: str) -> UUID:
    return UUID(bytes=hashlib.sha256(text.encode()).digest()[:16])
