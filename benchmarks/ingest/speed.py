"""Compares the speed of storing documents with that of the embedding model alone, on the same texts and cores."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from app.documents.storing import document_drafts, document_writes, ingest
from app.documents.types import Upload
from app.query import model_replacement
from app.services import Services
from benchmarks import statements

WARM_UP = 64
"""Passages that are embedded before the first measurement."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Documents and chunks that were processed, in seconds of time and of CPU time, with the number of statements.

    `cpu_s` is the CPU time of this process, `postgres_s` that of Postgres.
    """

    documents: int
    chunks: int
    wall_s: float
    cpu_s: float
    postgres_s: float = 0.0
    statements: int = 0


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
        """The same by the CPU time of this process and Postgres, which other processes on the machine affect less."""
        pairs = zip(self.model, self.stored, strict=True)
        return statistics.median((a.cpu_s + a.postgres_s) / (b.cpu_s + b.postgres_s) for a, b in pairs)


@dataclass(slots=True)
class Meter:
    """Measures work on one database: its time, its CPU time and the statements that are sent."""

    services: Services
    data_dir: Path
    statements: int = 0

    async def of(self, work: Callable[[], Awaitable[None]], documents: int, chunks: int) -> Rate:
        """The rate at which this work processes documents."""
        with self._counting():
            wall, cpu, postgres = time.perf_counter(), time.process_time(), self._postgres_s()
            await work()
            times = time.perf_counter() - wall, time.process_time() - cpu, self._postgres_s() - postgres
        return Rate(documents, chunks, *times, self.statements)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        self.statements = 0

        def count(*_details: Any) -> None:
            self.statements += 1

        with statements.recorded(self.services.db, count):
            yield

    def _postgres_s(self) -> float:
        """The CPU time of Postgres with all its processes, ended ones included."""
        (file,) = self.data_dir.rglob("postmaster.pid")
        server = psutil.Process(int(file.read_text().split()[0]))
        used = sum(server.cpu_times()[:4])
        for child in server.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                used += sum(child.cpu_times()[:2])
        return float(used)


async def compare(uploads: Sequence[Upload], services: Services, data_dir: Path, *, rounds: int) -> SpeedComparison:
    """Embeds the chunks of some documents, as many at once as an ingest may, then stores these documents, and so on.

    Each round has other documents, because a vector that the index has already takes half of the time to insert.
    """
    meter, user_id = Meter(services, data_dir), f"ingest-{uuid4()}"
    parts = [uploads[place::rounds] for place in range(rounds)]
    texts = [_chunk_texts(part, services) for part in parts]
    await _embed(texts[0][:WARM_UP], services)
    gc.collect()
    gc.freeze()  # as the service does when it starts
    of_model, of_ingest = [], []
    for part, chunks in zip(parts, texts, strict=True):
        of_model.append(await meter.of(partial(_embed, chunks, services), len(part), len(chunks)))
        of_ingest.append(await meter.of(partial(_store, part, user_id, services), len(part), len(chunks)))
    return SpeedComparison(of_model, of_ingest)


def _chunk_texts(uploads: Sequence[Upload], services: Services) -> list[str]:
    model, options = services.embedder.model, services.chunking_options
    cleaned = [document_drafts.hash_document(document_drafts.clean(upload)) for upload in uploads]
    drafts = [document_drafts.cut(document, model=model, options=options) for document in cleaned]
    return [chunk.embedded for draft in drafts for chunk in draft.chunks]


async def _embed(texts: Sequence[str], services: Services) -> None:
    async def embed() -> None:
        for start in range(0, len(texts), document_writes.EMBED_SLICE):
            await services.embedder.embed_documents(texts[start : start + document_writes.EMBED_SLICE])

    await model_replacement.run(services.embedder, services.db, embed)


async def _store(uploads: Sequence[Upload], user_id: str, services: Services) -> None:
    async for outcome in ingest.store(uploads, user_id, services):
        if outcome.error is not None:
            raise outcome.error


def joined(uploads: Sequence[Upload], notes: int) -> Sequence[Upload]:
    """Documents of this many notes each, under the titles of the notes."""
    if notes == 1:
        return uploads
    groups = [uploads[start : start + notes] for start in range(0, len(uploads), notes)]
    return [
        Upload("\n\n".join(f"## {one.title}\n\n{one.content}" for one in group), title=f"Notes {place}", uri=f"{place}")
        for place, group in enumerate(groups)
    ]
