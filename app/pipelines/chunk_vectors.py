"""Reads the stored vectors of chunks and computes the missing ones.

No transaction is open while the model computes vectors.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from app.providers import base
from app.providers.base import Embedder
from app.shapes import DocumentDraft
from app.store import documents
from app.store.db import Database

EMBED_SLICE = 256
"""Chunks that are embedded by one call; the work can be cancelled between two calls."""


def texts(drafts: Iterable[DocumentDraft]) -> dict[UUID, str]:
    """The embedded texts of the chunks of some documents, by embedding key."""
    return {chunk.embedding_key: chunk.embedded for draft in drafts for chunk in draft.chunks}


async def stored(user_id: str, keys: Sequence[UUID], *, db: Database) -> dict[UUID, str]:
    """The user's stored vectors for the keys that have one, as Postgres reads them."""
    async with db.reading(user_id) as reading:
        return await documents.known_vectors(reading, user_id, keys=keys)


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
