"""Compares the speed of storing documents with that of the embedding model alone, on the same texts and cores."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from app.pipelines import document_drafts, ingest, model_switch
from app.pipelines.services import Services
from app.shapes import Upload

BATCH = 64
"""Passages that the model embeds at once: about as many as an ingest does."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Documents and chunks that were processed, in seconds of time and of this process's CPU time."""

    documents: int
    chunks: int
    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """The rates of each round: of the model alone, and of storing the documents."""

    model: Sequence[Rate]
    stored: Sequence[Rate]

    @property
    def of_model(self) -> float:
        """The speed of storing as a share of the model's, by the time that both took: the median of the rounds."""
        return statistics.median(a.wall_s / b.wall_s for a, b in zip(self.model, self.stored, strict=True))

    @property
    def of_model_by_cpu(self) -> float:
        """The same by this process's CPU time, which other processes on the machine affect less."""
        return statistics.median(a.cpu_s / b.cpu_s for a, b in zip(self.model, self.stored, strict=True))


async def compare(uploads: Sequence[Upload], services: Services, *, rounds: int) -> SpeedComparison:
    """Embeds the chunks of all documents, then stores the documents for a new user, and so on alternately."""
    model, options = services.embedder.model, services.chunking_options
    drafts = [document_drafts.prepare(upload, model=model, options=options) for upload in uploads]
    texts = [chunk.embedded for draft in drafts for chunk in draft.chunks]

    async def embed(most: int = len(texts)) -> None:
        for start in range(0, most, BATCH):
            await services.embedder.embed_documents(texts[start : start + BATCH])

    async def alone() -> None:
        await model_switch.run(services.embedder, services.db, embed)

    async def store() -> None:
        async for outcome in ingest.many(uploads, f"ingest-{uuid4()}", services):
            if outcome.error is not None:
                raise outcome.error

    await model_switch.run(services.embedder, services.db, partial(embed, BATCH))
    of_model, of_ingest = [], []
    for _ in range(rounds):
        of_model.append(await _timed(alone, len(uploads), len(texts)))
        of_ingest.append(await _timed(store, len(uploads), len(texts)))
    return SpeedComparison(of_model, of_ingest)


async def _timed(work: Callable[[], Awaitable[None]], documents: int, chunks: int) -> Rate:
    await asyncio.sleep(0)
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return Rate(documents, chunks, time.perf_counter() - wall, time.process_time() - cpu)
