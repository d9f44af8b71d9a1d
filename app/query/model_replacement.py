"""Gives a request the embedding model of the stored vectors, and repeats the request if `reembed` replaces the model.

A request computes its vectors with one model. Its transactions fail if the stored vectors are no longer of this model,
and the request is then repeated with the new model. So a vector is never compared with, or stored among, vectors of
another model, and no process needs a restart.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from app import errors
from app.database import pools
from app.database.schema import reembedding
from app.database.transactions import Database
from app.enums import Vector
from app.models import protocols
from app.models.protocols import Embedder, EmbeddingModel
from app.models.remote_calls import RemoteCalls

log = logging.getLogger(__name__)
T = TypeVar("T")
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ActiveModel:
    """A stored model with the embedder that computes its vectors.

    `model` also has the name in the embedding keys of chunks (`keyed_by`), which may be an earlier model's.
    """

    stored: reembedding.StoredModel
    embedder: Embedder
    model: EmbeddingModel


_pinned: ContextVar[ActiveModel | None] = ContextVar("pinned_model", default=None)


class SwitchingEmbedder:
    """Embeds with the configured model whose vectors are stored.

    Within `pinned` it keeps one model, even if another request finds that the model was replaced.
    """

    def __init__(self, configured: Sequence[Embedder], stored: reembedding.StoredModel) -> None:
        self._configured = {(one.model.name, one.model.dimension): one for one in configured}
        self._active = self._matching(stored)

    @property
    def active(self) -> ActiveModel:
        """The model of the request in progress, otherwise the one that was last found in the database."""
        return _pinned.get() or self._active

    @property
    def _of_request(self) -> ActiveModel:
        """The model of the request in progress. Raises RuntimeError without one: no replacement would be noticed."""
        pinned = _pinned.get()
        if pinned is None:
            raise RuntimeError("Vectors are computed within model_replacement.run only.")
        return pinned

    @property
    def model(self) -> EmbeddingModel:
        """The model that computes the vectors."""
        return self.active.model

    @property
    def calls(self) -> RemoteCalls | None:
        """The calls of the model; None for a model in this process."""
        return protocols.calls_of(self.active.embedder)

    def configured(self, model: reembedding.StoredModel) -> Embedder | None:
        """The configured embedder of a stored model."""
        return self._configured.get(model.name)

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises what the model's embedder raises."""
        return await self._of_request.embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages. Raises what the model's embedder raises."""
        return await self._of_request.embedder.embed_documents(texts)

    @contextmanager
    def pinned(self) -> Iterator[ActiveModel]:
        """Use one model in a block. Its transactions raise ModelReplaced if the stored vectors are another model's."""
        active = self.active
        token = _pinned.set(active)
        try:
            with pools.expecting(active.stored.table):
                yield active
        finally:
            _pinned.reset(token)

    async def refresh(self, db: Database) -> None:
        """Use the model whose vectors are stored now. Raises SchemaMismatch if it is not configured."""
        stored = await reembedding.read_stored(db)
        if stored != self._active.stored:
            self._active = self._matching(stored)
            log.info("embedding model replaced", extra={"action": "model_replaced", "model": stored.model})

    def _matching(self, stored: reembedding.StoredModel) -> ActiveModel:
        embedder = self._configured.get(stored.name)
        if embedder is None:
            raise errors.SchemaMismatch(reembedding.refusal(stored.name, list(self._configured)))
        return ActiveModel(stored, embedder, dataclasses.replace(embedder.model, keyed_by=stored.keyed_by))


def of(embedder: object) -> SwitchingEmbedder | None:
    """The embedder as a switching one; None where the model cannot be replaced."""
    return embedder if isinstance(embedder, SwitchingEmbedder) else None


async def run(embedder: Embedder, db: Database, work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, which is repeated if the model is replaced meanwhile. Raises what `work` raises."""
    switch = of(embedder)
    if switch is None or _pinned.get() is not None:
        return await work()
    for _ in range(ATTEMPTS - 1):
        with suppress(errors.ModelReplaced), switch.pinned():
            return await work()
        await switch.refresh(db)
    with switch.pinned():
        return await work()
