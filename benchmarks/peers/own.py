"""Measures Stepwell's own searches as a peer: the pipelines in this process, without HTTP and without embedding."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from app import __version__
from app.documents.storing import document_drafts, ingest
from app.enums import Vector
from app.evaluation import beir, runner
from app.evaluation.runner import Strategy
from app.models.protocols import Embedder, EmbeddingModel
from app.query import model_replacement
from app.services import Services
from benchmarks.peers import measure, postgres
from benchmarks.peers.exchange import Material, Order, Result
from benchmarks.speed.vectors import unit

USER = "peers"


@dataclass(slots=True)
class RememberingEmbedder:
    """An embedder that computes the vector of a text once. `took_ms` has the times of `time_queries`."""

    inner: Embedder
    known: dict[str, Vector] = field(default_factory=dict)
    took_ms: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, services: Services) -> RememberingEmbedder:
        """Returns one over the embedder of the stored model."""
        switch = model_replacement.of(services.embedder)
        return cls(switch.active.embedder if switch else services.embedder)

    @property
    def model(self) -> EmbeddingModel:
        """The inner embedder's model."""
        return self.inner.model

    async def embed_query(self, text: str) -> Vector:
        """Returns the vector of a query."""
        if text not in self.known:
            self.known[text] = await self.inner.embed_query(text)
        return self.known[text]

    async def embed_documents(self, documents: Sequence[str]) -> list[Vector]:
        """Returns the vectors of texts."""
        missing = [text for text in documents if text not in self.known]
        if missing:
            self.known |= dict(zip(missing, await self.inner.embed_documents(missing), strict=True))
        return [self.known[text] for text in documents]

    async def time_queries(self, texts: Sequence[str]) -> None:
        """Computes the vectors of queries again, one after another."""
        for text in texts:
            start = time.perf_counter()
            await self.inner.embed_query(text)
            self.took_ms.append((time.perf_counter() - start) * 1000)


async def material(loaded: beir.EvaluationSet, embedder: RememberingEmbedder, services: Services) -> Material:
    """Cuts the documents as Stepwell does; a chunk's text is what Stepwell embeds and indexes, its title included."""
    cleaned = [document_drafts.hash_document(document_drafts.clean(upload)) for upload in loaded.documents]
    options = services.chunking_options
    drafts = [document_drafts.cut(document, model=embedder.model, options=options) for document in cleaned]
    pairs = [(str(draft.uri), chunk.embedded) for draft in drafts for chunk in draft.chunks]
    chunks = [text for _document, text in pairs]
    questions = [asked.text for asked in loaded.questions]
    chunk_vectors = await embedder.embed_documents(chunks)
    question_vectors = [await embedder.embed_query(text) for text in questions]
    documents = [document for document, _text in pairs]
    return Material(documents, chunks, unit(chunk_vectors), questions, unit(question_vectors))


async def store(loaded: beir.EvaluationSet, services: Services) -> None:
    """Stores the documents through the ingest pipeline. Raises what a document is rejected for."""
    outcomes = ingest.store(loaded.documents, USER, services)
    async for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error


async def ask(strategy: Strategy, given: Material, order: Order, services: Services, ingest_s: float) -> Result:
    """Asks the stored documents with a strategy."""

    async def answer(question: str, _vector: list[float]) -> list[str]:
        return runner.rank_documents(await runner.answer(question, strategy, USER, services, limit=order.limit))

    asked = await measure.ask_all(answer, given.questions, given.question_vectors, order)
    size = await postgres.size(order.dsn)
    return Result({"stepwell": __version__}, ingest_s, size, asked.answers, asked.took_ms, asked.cpu_s)
