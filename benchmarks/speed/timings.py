"""Measures the latency of each statement.

All statements run on the same questions, question by question in random order, so that noise of the machine affects
all of them equally. The time of the surrounding transaction is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import sqlalchemy as sa

from app.database.filter_types import Filters
from app.database.transactions import Database
from app.enums import Vector
from app.evaluation import metrics
from app.models.protocols import EmbeddingModel
from app.query.search_request import Ranking, SearchRequest
from app.query.search_types import HybridRequest, HybridResult, Weights
from app.search import hybrid_request, search
from app.search.state import SearchContext
from app.search.store import hybrid_search
from app.services import Services
from app.text.queries import query_parsing
from benchmarks.speed import texts
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.owner import Owner, Plan

Statement = Callable[[BenchmarkQuestion], Awaitable[float]]
Name = Literal[
    "hybrid",
    "vector leg",
    "text leg",
    "bare HNSW",
    "bare HNSW, same ef_search",
    "textbook OR",
    "textbook AND",
    "search",
    "search, re-ranked with MMR",
]

PLANS: tuple[Plan, ...] = ("default", "serial", "no sequential scan")
PLAN_QUESTIONS, WARM_UPS = 5, 10
LIMIT, CANDIDATES = 5, 100
EACH, VECTOR_ONLY, TEXT_ONLY = Weights(1, 1), Weights(1, 0), Weights(0, 1)


@dataclass(frozen=True, slots=True)
class Timing:
    """Percentiles in milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, took_ms: Sequence[float]) -> Timing:
        """Returns the percentiles of some measurements."""
        return cls(*(round(metrics.percentile(took_ms, share), 3) for share in (0.5, 0.95)))


@dataclass(frozen=True, slots=True)
class FixedEmbedder:
    """An embedder that returns given vectors, so that a search includes no embedding."""

    vectors: Mapping[str, Vector]
    model: EmbeddingModel

    async def embed_query(self, text: str) -> Vector:
        """Returns the vector of a text."""
        return self.vectors[text]

    async def embed_documents(self, documents: Sequence[str]) -> list[Vector]:
        """Returns the vectors of texts."""
        return [self.vectors[text] for text in documents]


@dataclass(frozen=True, slots=True)
class Target:
    """The database under measurement, connected to as the service and as the owner.

    `breadth` is the `hnsw.ef_search` that the service searches with, which grows with the corpus.
    """

    db: Database
    owner: Owner
    model: EmbeddingModel
    breadth: int

    @classmethod
    async def of(cls, db: Database, owner: Owner, model: EmbeddingModel) -> Target:
        """Returns the target with the breadth that a search has."""
        async with db.searching(USER, candidates=CANDIDATES) as reading:
            breadth = await reading.execute(sa.text("SHOW hnsw.ef_search"))
        return cls(db, owner, model, int(breadth.one()[0]))

    def statements(self) -> dict[Name, Statement]:
        """Returns the timed statements by name."""
        return {
            "hybrid": lambda question: self._recall(question, EACH),
            "vector leg": lambda question: self._recall(question, VECTOR_ONLY),
            "text leg": lambda question: self._recall(question, TEXT_ONLY),
            "bare HNSW": lambda question: self._bare(question, CANDIDATES),
            "bare HNSW, same ef_search": lambda question: self._bare(question, self.breadth),
            "textbook OR": lambda question: self._textbook(question, texts.any_of(question.words)),
            "textbook AND": lambda question: self._textbook(question, texts.all_of(question.words)),
            "search": lambda question: self._search(question, ordered=False),
            "search, re-ranked with MMR": lambda question: self._search(question, ordered=True),
        }

    async def _recall(self, question: BenchmarkQuestion, weights: Weights) -> float:
        async with self.db.searching(USER, candidates=CANDIDATES) as reading:
            start = time.perf_counter()
            await hybrid_search.hybrid(reading, request(question, weights))
            return _since(start)

    async def _bare(self, question: BenchmarkQuestion, breadth: int) -> float:
        async with self.owner.searching(breadth):
            start = time.perf_counter()
            await self.owner.nearest(question.vector, candidates=CANDIDATES)
            return _since(start)

    async def _textbook(self, question: BenchmarkQuestion, query: str) -> float:
        start = time.perf_counter()
        await self.owner.textbook(USER, query, question.vector, candidates=CANDIDATES, limit=LIMIT)
        return _since(start)

    async def _search(self, question: BenchmarkQuestion, *, ordered: bool) -> float:
        """Runs the search pipeline without embedding, including connection and transaction.

        `ordered`: with re-ranking by cosine and MMR of its best hits.
        """
        text = " ".join(question.words)
        embedder = FixedEmbedder({query_parsing.parse(text).text: question.vector}, self.model)
        start = time.perf_counter()
        ranking = Ranking(rerank="cosine" if ordered else "none", mmr=ordered)
        query = SearchRequest(query=text, limit=LIMIT, collapse="off", ranking=ranking)
        await search.run(query, USER, Services(self.db, embedder))
        return _since(start)


def request(
    question: BenchmarkQuestion, weights: Weights, *, limit: int = LIMIT, metadata: Mapping[str, int] | None = None
) -> HybridRequest:
    """Returns the hybrid statement's input for a question; empty metadata filter nothing."""
    return HybridRequest(
        user_id=USER,
        vector=question.vector,
        lexical=hybrid_request.lexical_query(query_parsing.parse(" ".join(question.words))),
        weights=weights,
        fusion="rrf",
        limit=limit,
        candidates=CANDIDATES,
        filters=Filters(metadata=metadata or None),
    )


async def retrieve(db: Database, asked: HybridRequest) -> HybridResult:
    """Runs the hybrid statement."""
    async with db.searching(asked.user_id, candidates=asked.candidates) as reading:
        return await hybrid_search.hybrid(reading, asked)


async def latencies(
    questions: Sequence[BenchmarkQuestion], statements: Mapping[Name, Statement], *, progress: Progress
) -> dict[Name, Timing]:
    """Returns each statement's percentiles over the questions, after a warm-up on the first ones."""
    rng = np.random.default_rng(0)
    took: dict[Name, list[float]] = {name: [] for name in statements}
    for place, question in enumerate([*questions[:WARM_UPS], *questions]):
        for number in rng.permutation(len(statements)).tolist():
            name = list(statements)[number]
            milliseconds = await statements[name](question)
            if place >= WARM_UPS:
                took[name].append(milliseconds)
        progress("timing", place + 1, len(questions) + WARM_UPS)
    return {name: Timing.of(values) for name, values in took.items()}


async def best_plan(questions: Sequence[BenchmarkQuestion], target: Target) -> Plan:
    """Returns the planner settings with the lowest latency of the textbook query, and leaves the owner on them."""
    statement = target.statements()["textbook OR"]
    took: dict[Plan, list[float]] = {plan: [] for plan in PLANS}
    for question in questions[:PLAN_QUESTIONS]:
        for plan in PLANS:
            await target.owner.use(plan)
            await statement(question)
            took[plan].append(await statement(question))
    best = min(PLANS, key=lambda plan: metrics.percentile(took[plan], 0.5))
    await target.owner.use(best)
    return best


async def embedding(queries: Sequence[str], context: SearchContext) -> tuple[Timing, Timing]:
    """Returns the latencies of embedding each query for the first time and once more."""
    return await _embedding(queries, context), await _embedding(queries, context)


async def _embedding(queries: Sequence[str], context: SearchContext) -> Timing:
    took = []
    for text in queries:
        start = time.perf_counter()
        await hybrid_request.embed(text, context)
        took.append(_since(start))
    return Timing.of(took)


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
