"""Ingests an evaluation set, runs its questions through the search pipelines and averages the ranking metrics.

Each question asks for the largest limit of its endpoint. Documents are ranked by their first chunk.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from app import errors, limits
from app.database.filter_types import Filters
from app.documents import operations as documents
from app.documents.storing import ingest
from app.entities import bulk_upsert
from app.entities.linking import mention_refresh
from app.entities.types import EntityDraft
from app.enums import Mode
from app.evaluation import beir, metrics
from app.multihop import multihop
from app.query.search_request import GuidanceOptions, HopOptions, Ranking, SearchRequest
from app.query.search_types import Answer
from app.search import search
from app.services import Services
from app.text import uris

ASSESSED_HITS = 10
"""Hits of each question whose relevance is compared with the judgements."""
EvaluationMode = Literal["auto", "hybrid", "semantic", "lexical", "flat", "two_pass", "multihop"]
API_MODES: dict[EvaluationMode, Mode] = {"hybrid": "hybrid", "semantic": "semantic", "lexical": "lexical"}
"""Evaluation modes that set the API's `mode`; all others leave it at `auto`."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the questions are asked.

    `auto`, `hybrid`, `semantic` and `lexical` are the API's modes; `ranking` has the API's meaning too.
    `flat` is `auto` without guidance and boost by entities, `two_pass` is `auto` with guidance forced. `multihop` is
    the multi-hop search, which entities guide only if that is forced.
    """

    mode: EvaluationMode = "auto"
    ranking: Ranking = field(default_factory=Ranking)

    def query(self, text: str, filters: Filters) -> SearchRequest:
        """Returns the search for one question, which may be longer than the API allows."""
        is_multihop, guidance = self.mode == "multihop", self.ranking.guidance
        hops = (self.ranking.hops or HopOptions()) if is_multihop else None
        if self.mode == "flat" or (is_multihop and guidance.mode != "force"):
            guidance = GuidanceOptions(mode="off", boost=False)
        else:
            mode = "force" if self.mode == "two_pass" else guidance.mode or "auto"
            guidance = guidance.model_copy(update={"mode": mode})
        request = SearchRequest(
            query=text[: limits.MAX_QUERY],
            filters=filters,
            limit=limits.MAX_MULTIHOP_HITS if is_multihop else limits.MAX_HITS,
            mode=API_MODES.get(self.mode, "auto"),
            collapse="off",
            ranking=self.ranking.model_copy(update={"guidance": guidance, "hops": hops}),
        )
        return request.changed(query=text)


@dataclass(frozen=True, slots=True)
class Tenant:
    """The user who gets the set's documents. `exclusive`: the user's other documents are deleted."""

    user_id: str
    exclusive: bool = True

    @classmethod
    def of(cls, name: str) -> Tenant:
        """Returns a user derived from the set's name, so that several sets can share a database."""
        return cls(f"eval-{hashlib.sha256(name.encode()).hexdigest()[:16]}")


@dataclass(slots=True)
class Predictions:
    """The predicted relevance of hits and answerability of questions, each with whether the judgements agree."""

    relevance: list[metrics.Prediction] = field(default_factory=list)
    answerable: list[metrics.Prediction] = field(default_factory=list)

    def add(self, answer: Answer, relevant: Mapping[str, float]) -> None:
        """Add the first hits of an answer; without relevant documents the question has no answer."""
        if answer.answerable is None:
            return
        self.answerable.append((answer.answerable, bool(relevant)))
        self.relevance += [
            (hit.relevance, relevant.get(str(hit.candidate.uri), 0) > 0)
            for hit in answer.hits[:ASSESSED_HITS]
            if hit.relevance is not None
        ]

    def as_json(self) -> dict[str, Any]:
        """Returns the calibration of both."""
        named = {"relevance": self.relevance, "answerable": self.answerable}
        return {name: asdict(metrics.measure_calibration(pairs)) for name, pairs in named.items() if pairs}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Metrics averaged over the judged queries (`kinds`: by type), latencies in milliseconds and ingest counts.

    `not_reranked` counts the questions whose reranking failed; these kept the fused order. `degraded` counts the
    questions by the other codes of what could not be used. `predictions` has the relevance of the first hits and the
    answerability of all questions, each with the judgement; None without relevance.
    """

    measures: dict[str, float]
    kinds: dict[str, dict[str, float]]
    questions: int
    documents: int
    embedded: int
    skipped: int
    not_reranked: int | None = None
    degraded: Mapping[str, int] = field(default_factory=dict)
    predictions: Predictions | None = None

    def totals(self) -> dict[str, float | int]:
        """Returns all figures over all questions; `not_reranked` only with reranking."""
        counts = {"queries": self.questions, "documents": self.documents, "embedded": self.embedded}
        failed = {} if self.not_reranked is None else {"not_reranked": self.not_reranked}
        return {**self.measures, "skipped": self.skipped, **counts, **failed, **self.degraded}

    def as_json(self) -> dict[str, Any]:
        """Returns the totals, and the figures by type if the questions have types."""
        kinds = {"types": self.kinds} if self.kinds else {}
        assessed = self.predictions.as_json() if self.predictions else {}
        return {**self.totals(), **kinds, **assessed}


async def run(
    loaded: beir.EvaluationSet,
    strategy: Strategy,
    tenant: Tenant,
    *,
    services: Services,
    unanswerable: Sequence[beir.JudgedQuestion] = (),
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> EvaluationReport:
    """Ingests a set and asks its questions. Chunks that are stored already are not embedded again.

    `unanswerable` are questions that the set does not answer; they count only in the predictions.

    Raises BadRequest for options that the strategy's mode or the services do not support.
    """
    _check(strategy, services)
    user_id = tenant.user_id
    await import_entities(loaded.entities, user_id, services)
    embedded, refused = await _ingest(loaded, user_id, services, progress)
    if tenant.exclusive:
        await _delete_others({str(upload.uri) for upload in loaded.documents}, user_id, services)
    # A job finds the names from a document's metadata in the documents that were stored before it.
    await mention_refresh.settle(user_id, services)
    rankings, took, degraded, predictions = [], [], Counter[str](), Predictions()
    for index, asked in enumerate(loaded.questions):
        start = time.perf_counter()
        found = await answer(asked.text, strategy, user_id, services, filters=asked.filters)
        took.append((time.perf_counter() - start) * 1000)
        rankings.append(rank_documents(found))
        predictions.add(found, asked.relevant)
        degraded.update(found.degraded)
        progress("asking", index + 1, len(loaded.questions))
    latencies = {f"p{share}_ms": round(metrics.percentile(took, share / 100), 2) for share in (50, 95)}
    failed = degraded.pop("reranker_failed", 0)
    for asked in unanswerable:
        predictions.add(await answer(asked.text, strategy, user_id, services), {})
    return EvaluationReport(
        measures={**average(rankings, loaded.questions), **latencies},
        kinds=average_by_kind(rankings, loaded.questions),
        questions=len(loaded.questions),
        documents=len(loaded.documents) - refused,
        embedded=embedded,
        skipped=loaded.skipped + refused,
        not_reranked=failed if strategy.ranking.rerank != "none" else None,
        degraded=degraded,
        predictions=predictions if predictions.answerable else None,
    )


def _check(strategy: Strategy, services: Services) -> None:
    if strategy.ranking.guidance.mode and strategy.mode in ("flat", "two_pass"):
        raise errors.BadRequest(f"The mode {strategy.mode} sets its own guidance.", field="ranking.guidance.mode")
    if strategy.ranking.rerank == "provider" and services.reranker is None:
        raise errors.BadRequest("No reranker is configured: set STEPWELL_RERANKER.", field="ranking.rerank")


def average_by_kind(
    rankings: Sequence[Sequence[str]], questions: Sequence[beir.JudgedQuestion]
) -> dict[str, dict[str, float]]:
    """Returns the averages and the number of questions by type, for questions that have one."""
    kinds = dict.fromkeys(question.kind for question in questions if question.kind)
    pairs = list(zip(rankings, questions, strict=True))
    found: dict[str, dict[str, float]] = {}
    for kind in kinds:
        mine = [pair for pair in pairs if pair[1].kind == kind]
        means = average([ranking for ranking, _ in mine], [question for _, question in mine])
        found[kind] = {"queries": len(mine), **means}
    return found


def average(rankings: Sequence[Sequence[str]], questions: Sequence[beir.JudgedQuestion]) -> dict[str, float]:
    """Returns the mean of each metric over the questions, rounded to four digits."""
    pairs = [(ranking, question.relevant) for ranking, question in zip(rankings, questions, strict=True)]
    sums = {
        "ndcg@10": sum(metrics.ndcg(*pair, 10) for pair in pairs),
        "recall@2": sum(metrics.recall(*pair, 2) for pair in pairs),
        "recall@5": sum(metrics.recall(*pair, 5) for pair in pairs),
        "recall@10": sum(metrics.recall(*pair, 10) for pair in pairs),
        "full_recall@5": sum(metrics.full_recall(*pair, 5) for pair in pairs),
        "mrr@10": sum(metrics.reciprocal_rank(*pair, 10) for pair in pairs),
    }
    return {name: round(total / max(len(pairs), 1), 4) for name, total in sums.items()}


async def import_entities(entities: Sequence[EntityDraft], user_id: str, services: Services) -> None:
    """Imports the set's entities as `POST /api/rag/entities/bulk` does and links the stored documents to them.

    Raises BadRequest with the first entity that is rejected.
    """
    lines = []
    for number, entity in enumerate(entities, 1):
        try:
            lines.append(bulk_upsert.Line.of(number, entity))
        except errors.BadRequest as error:
            raise _refuse(number, error) from error
    for outcome in await bulk_upsert.run(lines, user_id, db=services.db, embedder=services.embedder):
        if outcome.error is not None:
            raise _refuse(outcome.number, outcome.error)
    await mention_refresh.drain(user_id, services)


def _refuse(number: int, error: errors.StepwellError) -> errors.BadRequest:
    return errors.BadRequest(f"Entity {number}: {error.message}", field="entities.jsonl")


async def _ingest(
    loaded: beir.EvaluationSet, user_id: str, services: Services, progress: Callable[[str, int, int], None]
) -> tuple[int, int]:
    """Stores the set; returns the numbers of chunks embedded and documents rejected."""
    embedded = refused = done = 0
    async for outcome in ingest.store(loaded.documents, user_id, services):
        embedded += outcome.stored.embedded if outcome.stored else 0
        refused += outcome.stored is None
        done += 1
        progress("ingesting", done, len(loaded.documents))
    return embedded, refused


async def _delete_others(kept: set[str], user_id: str, services: Services) -> None:
    after = None
    while page := await documents.page(user_id, db=services.db, limit=1000, after=after):
        for document in page:
            if uris.compose(document.uri or "") not in kept:
                await documents.delete(document.document_id, user_id, db=services.db)
        after = (page[-1].created_at, page[-1].document_id)


async def answer(
    text: str, strategy: Strategy, user_id: str, services: Services, *, filters: Filters | None = None, **changed: Any
) -> Answer:
    """Asks one question with the strategy's pipeline; `changed` are other values of fields of its request."""
    run = multihop.run if strategy.mode == "multihop" else search.run
    return await run(strategy.query(text, filters or Filters()).changed(**changed), user_id, services)


def rank_documents(found: Answer) -> list[str]:
    """Returns the answer's documents in the order of their first chunks."""
    return list(dict.fromkeys(str(hit.candidate.uri) for hit in found.hits))
