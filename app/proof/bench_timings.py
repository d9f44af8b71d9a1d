"""How long does each statement take?

All are asked the same questions in one run, question by question and in changing order, so that a machine's noise hits
all of them alike; only the statement itself is on the clock, the transaction around it is not.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.pipelines import search, understanding
from app.pipelines.services import Services
from app.proof import bench_texts, metrics
from app.proof.bench_corpus import USER, Progress, Question
from app.providers.base import Embedder, EmbeddingModel
from app.shapes import Filters, HybridRequest, HybridResult, Query, Vector, Weights
from app.store import recall
from app.store.benchmarks import Owner, Plan
from app.store.db import Database
from app.text import analysis

Statement = Callable[[Question], Awaitable[float]]
Name = Literal["hybrid", "vector leg", "text leg", "bare HNSW", "textbook OR", "textbook AND", "search"]

PLANS: tuple[Plan, ...] = ("default", "serial", "no sequential scan")
PILOTS, WARM_UPS = 5, 10
LIMIT, CANDIDATES = 5, 100
EACH, VECTOR_ONLY, TEXT_ONLY = Weights(1, 1), Weights(1, 0), Weights(0, 1)


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds over a run's questions."""

    p50: float
    p95: float

    @classmethod
    def of(cls, took_ms: Sequence[float]) -> Timing:
        """The percentiles of some measurements."""
        return cls(*(round(metrics.percentile(took_ms, share), 3) for share in (0.5, 0.95)))


@dataclass(frozen=True, slots=True)
class Known:
    """An embedder that knows the questions' vectors already: a search through it costs no embedding."""

    vectors: Mapping[str, Vector]
    model: EmbeddingModel

    async def embed_query(self, text: str) -> Vector:
        """The vector of a known question."""
        return self.vectors[text]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of known questions."""
        return [self.vectors[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Stand:
    """The database as the service and as the owner see it."""

    db: Database
    owner: Owner
    model: EmbeddingModel

    def statements(self) -> dict[Name, Statement]:
        """Everything that is timed, by name."""
        return {
            "hybrid": lambda question: self._recall(question, EACH),
            "vector leg": lambda question: self._recall(question, VECTOR_ONLY),
            "text leg": lambda question: self._recall(question, TEXT_ONLY),
            "bare HNSW": self._bare,
            "textbook OR": lambda question: self._textbook(question, bench_texts.any_of(question.words)),
            "textbook AND": lambda question: self._textbook(question, bench_texts.all_of(question.words)),
            "search": self._search,
        }

    async def _recall(self, question: Question, weights: Weights) -> float:
        async with self.db.reading(USER, candidates=CANDIDATES, plain=True) as reading:
            start = time.perf_counter()
            await recall.hybrid(reading, ask(question, weights))
            return _since(start)

    async def _bare(self, question: Question) -> float:
        start = time.perf_counter()
        await self.owner.nearest(question.vector, candidates=CANDIDATES)
        return _since(start)

    async def _textbook(self, question: Question, query: str) -> float:
        start = time.perf_counter()
        await self.owner.textbook(USER, query, question.vector, candidates=CANDIDATES, limit=LIMIT)
        return _since(start)

    async def _search(self, question: Question) -> float:
        """The whole corridor but for the embedding, connection and transaction included."""
        text = " ".join(question.words)
        embedder = Known({analysis.parse(text).text: question.vector}, self.model)
        start = time.perf_counter()
        await search.run(Query(USER, text, limit=LIMIT), Services(self.db, embedder))
        return _since(start)


def ask(
    question: Question, weights: Weights, *, limit: int = LIMIT, metadata: Mapping[str, int] | None = None
) -> HybridRequest:
    """A question as the hybrid statement gets it; empty metadata filter nothing."""
    return HybridRequest(
        user_id=USER,
        vector=question.vector,
        lexical=understanding.lexical_query(analysis.parse(" ".join(question.words))),
        weights=weights,
        fusion="rrf",
        limit=limit,
        candidates=CANDIDATES,
        filters=Filters(metadata=metadata or None),
    )


async def recalled(db: Database, asked: HybridRequest) -> HybridResult:
    """What the service finds."""
    async with db.reading(asked.user_id, candidates=asked.candidates, plain=True) as reading:
        return await recall.hybrid(reading, asked)


async def latencies(
    questions: Sequence[Question], statements: Mapping[Name, Statement], *, progress: Progress
) -> dict[Name, Timing]:
    """Every statement's percentiles over the questions, after a few of them to warm up."""
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


async def best_plan(questions: Sequence[Question], stand: Stand) -> Plan:
    """The settings under which the textbook's query answers a few questions soonest; the owner goes on using them."""
    statement = stand.statements()["textbook OR"]
    took: dict[Plan, list[float]] = {plan: [] for plan in PLANS}
    for question in questions[:PILOTS]:
        for plan in PLANS:
            await stand.owner.use(plan)
            await statement(question)
            took[plan].append(await statement(question))
    best = min(PLANS, key=lambda plan: metrics.percentile(took[plan], 0.5))
    await stand.owner.use(best)
    return best


async def embedding(texts: Sequence[str], embedder: Embedder) -> tuple[Timing, Timing]:
    """Milliseconds to embed each query for the first time, and again."""
    return await _embedding(texts, embedder), await _embedding(texts, embedder)


async def _embedding(texts: Sequence[str], embedder: Embedder) -> Timing:
    took = []
    for text in texts:
        start = time.perf_counter()
        await embedder.embed_query(text)
        took.append(_since(start))
    return Timing.of(took)


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
