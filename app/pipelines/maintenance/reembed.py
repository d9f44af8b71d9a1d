"""Replaces the embedding model of a database while it is searched.

The owner creates tables for the vectors of the other model. Jobs fill them, one for each user; documents that are
stored meanwhile get vectors of both models from processes that have both. Once nothing is missing, the owner replaces
the tables in one transaction. All of it can be interrupted and continued.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import stamina

from app import errors
from app.pipelines.documents import chunk_vectors, document_drafts
from app.pipelines.documents.chunk_vectors import Key
from app.pipelines.running import model_switch, workers
from app.pipelines.running.services import Services
from app.pipelines.running.workers import ClaimLost, JobKind, Run
from app.providers.base import Embedder
from app.store.connection.transactions import Database, Writing
from app.store.documents.document_rows import VectorValue
from app.store.maintenance import reembedding
from app.store.maintenance.reembedding import ChunkToEmbed, Corpus, StoredModel

CHUNKS = 128
"""Chunks that are embedded and stored at once."""
SAMPLED = 64
POLL_S, SWITCH_PAUSE_S, LOCK_RETRY_S = 0.5, 1.0, 120.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is to be embedded, and how long it takes at the rate of a sample; None without chunks."""

    corpus: Corpus
    seconds: float | None


@dataclass(frozen=True, slots=True)
class FillingState:
    """How many chunks have a vector of the other model, of how many; those of users at work while jobs are open."""

    done: int
    total: int
    is_complete: bool


async def estimate(owner: Database, embedder: Embedder) -> Estimate:
    """The size of all that is stored, and the time to embed it. Raises ProviderError."""
    async with owner.shared() as shared:
        corpus = await reembedding.corpus(shared)
        texts = await reembedding.sample(shared, limit=SAMPLED)
    if not texts:
        return Estimate(corpus, None)
    began = time.monotonic()
    await embedder.embed_documents(texts)
    return Estimate(corpus, (time.monotonic() - began) / len(texts) * corpus.chunks)


async def begin(owner: Database, model: tuple[str, int]) -> None:
    """Create the tables for a model, by name and dimension, unless they exist.

    Raises Conflict if they are those of a third model, Busy if locks are held for LOCK_RETRY_S.
    """
    async with owner.shared() as shared:
        found = await reembedding.target(shared)
    if found is None:
        await _insistently(partial(reembedding.begin, owner, *model))
    elif found.name != model:
        raise errors.Conflict(
            f"The vectors of {found.model} ({found.dimension}) are being computed: name it in STEPWELL_NEXT_EMBEDDER, "
            "or run `stepwell reembed --cancel`.",
            field="STEPWELL_NEXT_EMBEDDER",
        )


async def run(services: Services, owner: Database) -> AsyncIterator[FillingState]:
    """Fill the tables and switch to them; yields the progress.

    Works on the jobs like any other worker. Raises ProviderError, DatabaseUnavailable, and Conflict if another command
    has cancelled it; what is computed is kept.
    """
    worker = asyncio.create_task(_work(services))
    try:
        while True:
            state = await _advanced(owner)
            yield state
            if state.is_complete and await _switched(owner):
                return
            await asyncio.wait({worker}, timeout=POLL_S)
            if worker.done():
                await worker
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


async def _advanced(owner: Database) -> FillingState:
    """The progress of the jobs, which are queued for the users with missing vectors if none is left. Raises Conflict.

    All chunks are compared only then, because it takes a second for each million of them.
    """
    async with owner.shared() as shared:
        if await reembedding.target(shared) is None:
            raise errors.Conflict("The re-embedding was cancelled.")
        open_jobs = await reembedding.open_jobs(shared)
        if open_jobs.jobs:
            return FillingState(open_jobs.done, open_jobs.total, is_complete=False)
        missing = await reembedding.gaps(shared)
        for gap in missing:
            await reembedding.enqueue(shared, gap.user_id)
        total = (await reembedding.corpus(shared)).chunks
    return FillingState(total - sum(gap.chunks for gap in missing), total, is_complete=not missing)


async def _work(services: Services) -> None:
    """Run jobs until cancelled. Raises what a job raises, except that a write held its lock for too long."""
    while True:
        try:
            ran = await workers.run_next(services, [KIND])
        except errors.Busy:
            continue  # the job is queued again, for a few seconds later
        if ran is None:
            await asyncio.sleep(POLL_S)


async def _switched(owner: Database) -> bool:
    await reembedding.analyze(owner)
    try:
        return await reembedding.switch(owner)
    except errors.Busy:
        await asyncio.sleep(SWITCH_PAUSE_S)
        return False


async def _insistently(step: Callable[[], Awaitable[None]]) -> None:
    """Repeat a step that needs a short exclusive lock while others hold theirs. Raises Busy after LOCK_RETRY_S."""
    caller = stamina.AsyncRetryingCaller(attempts=None, timeout=LOCK_RETRY_S, wait_initial=0.2, wait_max=2.0)
    await caller(errors.Busy, step)


async def cancel(owner: Database) -> bool:
    """Drop the vectors of the other model and cancel the jobs; false if there are none."""
    async with owner.shared() as shared:
        if await reembedding.target(shared) is None:
            return False
    await _insistently(partial(reembedding.abandon, owner))
    return True


@dataclass(slots=True)
class _Filling:
    """One attempt at the job of a user."""

    run: Run
    target: StoredModel
    embedder: Embedder
    done: int
    total: int

    @property
    def user_id(self) -> str:
        return self.run.user_id

    async def vectors(self, texts: Mapping[Key, str]) -> dict[Key, VectorValue]:
        """The vectors of texts by key, computed where the user's cache does not have them. Raises ProviderError.

        They are not added to the cache, which keeps what is stored again, not everything that is stored.
        """
        return await chunk_vectors.cached_or_computed(texts, self.embedder, self.user_id, self.run.services, keep=False)

    @asynccontextmanager
    async def writing(self, count: int) -> AsyncIterator[Writing]:
        """A transaction under the user's lock that stores vectors and the progress. Raises ClaimLost, Busy."""
        async with self.run.db.writing(self.user_id) as writing:
            await writing.lock()
            if writing.vector_tables.next != self.target.table:
                raise ClaimLost
            yield writing
            self.done = min(self.done + count, self.total)
            progress = {"unit": "chunks", "step": "embed", "done": self.done, "total": self.total}
            await self.run.advance(writing, **progress)


async def _fill(run: Run) -> int:
    """Compute the missing vectors of the other model; returns the number of chunks that were embedded."""
    user_id = run.user_id
    async with run.db.reading(user_id) as reading:
        target = await reembedding.target(reading)
        done, total = await reembedding.count(reading) if target else (0, 0)
    embedded = 0
    if target is not None:
        switch = model_switch.of(run.services.embedder)
        embedder = switch.configured(target) if switch else None
        if embedder is None:
            raise errors.Unavailable(f"{target.model} ({target.dimension}) is not configured in this process.")
        filling = _Filling(run, target, embedder, done, total)
        embedded = await _fill_chunks(filling)
        await _fill_entities(filling)
    async with run.db.writing(user_id) as writing:
        await run.finish(writing, embedded=embedded)
    return embedded


def _has_next_model(services: Services) -> bool:
    switch = model_switch.of(services.embedder)
    return switch is not None and switch.has_next


KIND = JobKind(reembedding.JOB, _fill, queue="reembedding", is_cancellable=False, runs_with=_has_next_model)


async def _fill_chunks(filling: _Filling) -> int:
    """Embed the chunks without a vector, in the order of their numbers, until none is found from the first one on."""
    embedded, after = 0, 0
    while True:
        async with filling.run.db.reading(filling.user_id) as reading:
            found = await reembedding.texts(reading, after=after, limit=CHUNKS)
        if not found and not after:
            return embedded
        after = found[-1].chunk_no if found else 0
        texts = {one.chunk_no: _embedded_text(one) for one in found}
        vectors = await filling.vectors(texts)
        if vectors:
            async with filling.writing(len(vectors)) as writing:
                await reembedding.add(writing, vectors)
            embedded += len(vectors)


def _embedded_text(one: ChunkToEmbed) -> str:
    return document_drafts.embedded_text(one.title, one.filename, one.heading_path, one.content)


async def _fill_entities(filling: _Filling) -> None:
    while True:
        async with filling.run.db.reading(filling.user_id) as reading:
            found = await reembedding.descriptions(reading, limit=CHUNKS)
        if not found:
            return
        vectors = await filling.vectors({one: one.text for one in found})
        async with filling.writing(0) as writing:
            await reembedding.add_descriptions(writing, vectors)
