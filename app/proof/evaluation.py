"""How good are the answers on a set with judgements?

Documents go in through the real pipeline and questions through the real search, at the endpoint's largest limit;
documents are ranked by their first chunk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app import errors
from app.pipelines import documents, entity_lines, ingest, multihop, relinking, search
from app.pipelines.extraction import Extractor
from app.pipelines.multihop import Merge
from app.pipelines.services import Services
from app.proof import beir, metrics
from app.shapes import Answer, EntityDraft, Fusion, Guidance, Json, Mode, Query, Rerank

LARGEST_LIMIT = 50
LARGEST_MULTIHOP_LIMIT = 20
MULTIHOP = "multihop"
MODES: dict[str, Mode] = {"auto": "auto", "hybrid": "auto", "vector": "semantic", "text": "lexical"}
"""How a strategy is asked: `hybrid` is both legs as the service fuses them by default, `auto` all defaults. They differ
where entities guide a search."""
FLAT = Guidance("off", boost=False)
GUIDANCE = {"auto": Guidance(), "two_pass": Guidance("force")}
"""Which modes entities guide; `two_pass` skips the rules of confidence."""
RERANKED = ("auto", "hybrid", "two_pass")
"""Modes whose best may be scored again: both legs of one search."""


@dataclass(frozen=True, slots=True)
class Report:
    """Averages over the judged queries (`kinds`: by their type), latencies in milliseconds, and what the ingest did.

    `not_reranked` counts the questions that were to be re-ranked and could not be; their answers stayed as fused.
    """

    measures: dict[str, float]
    kinds: dict[str, dict[str, float]]
    questions: int
    documents: int
    embedded: int
    skipped: int
    not_reranked: int | None = None

    def totals(self) -> dict[str, float | int]:
        """Every figure over all questions; `not_reranked` where re-ranking was asked for."""
        counts = {"queries": self.questions, "documents": self.documents, "embedded": self.embedded}
        failed = {} if self.not_reranked is None else {"not_reranked": self.not_reranked}
        return {**self.measures, "skipped": self.skipped, **counts, **failed}

    def as_json(self) -> dict[str, Any]:
        """The totals at the top level, and `types` where the questions have types."""
        return {**self.totals(), "types": self.kinds} if self.kinds else self.totals()


async def run(
    loaded: beir.EvaluationSet,
    user_id: str,
    *,
    mode: str,
    services: Services,
    fusion: Fusion = "auto",
    rerank: Rerank = "none",
    extractor: Extractor = "auto",
    merge: Merge = "linked",
    max_hops: int = 2,
    alone: bool = True,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Ingest a set for a user (what is there already is not embedded again) and ask its questions in `mode`.

    `extractor`, `merge` and `max_hops` count in the mode `multihop`. `alone`: whatever else the user has is deleted.
    Raises BadRequest for a `rerank` that the mode or the services do not have.
    """
    _check_rerank(rerank, mode, services)
    hopping = (extractor, merge, max_hops) if mode == MULTIHOP else None
    await import_entities(loaded.entities, user_id, services)
    embedded, refused = await _ingest(loaded, user_id, services, progress)
    if alone:
        await _forget_others({str(upload.uri) for upload in loaded.documents}, user_id, services)
    rankings, took, failed = [], [], 0
    for place, asked in enumerate(loaded.questions):
        start = time.perf_counter()
        query = question(asked.text, user_id, mode, fusion, services)
        found = await answer(replace(query, filters=asked.filters, rerank=rerank), services, hopping)
        took.append((time.perf_counter() - start) * 1000)
        rankings.append(ranked(found))
        failed += "reranker_failed" in found.degraded
        progress("asking", place + 1, len(loaded.questions))
    measures = {**averages(rankings, loaded.questions), **_latencies(took)}
    stored = len(loaded.documents) - refused
    kinds = by_kind(rankings, loaded.questions)
    skipped, not_reranked = loaded.skipped + refused, failed if rerank != "none" else None
    return Report(measures, kinds, len(loaded.questions), stored, embedded, skipped, not_reranked)


def _check_rerank(rerank: Rerank, mode: str, services: Services) -> None:
    """Raises BadRequest where `mode` cannot be re-ranked so, or no re-ranker is configured that could be asked."""
    if rerank != "none" and mode not in RERANKED:
        raise errors.BadRequest(f"Re-ranking goes with the modes {', '.join(RERANKED)}, not {mode}.", field="rerank")
    if rerank == "provider" and services.reranker is None:
        raise errors.BadRequest("Set STEPWELL_RERANKER to a re-ranker that can be asked.", field="rerank")


def by_kind(rankings: Sequence[Sequence[str]], questions: Sequence[beir.Question]) -> dict[str, dict[str, float]]:
    """The averages for each type of question, and how many there are of it; nothing for questions without a type."""
    kinds = dict.fromkeys(question.kind for question in questions if question.kind)
    pairs = list(zip(rankings, questions, strict=True))
    found: dict[str, dict[str, float]] = {}
    for kind in kinds:
        mine = [pair for pair in pairs if pair[1].kind == kind]
        means = averages([ranking for ranking, _ in mine], [question for _, question in mine])
        found[kind] = {"queries": len(mine), **means}
    return found


def user_of(name: str) -> str:
    """A user of the set's own, so that several sets share a data dir without mixing."""
    return f"eval-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def averages(rankings: Sequence[Sequence[str]], questions: Sequence[beir.Question]) -> dict[str, float]:
    """The mean of each measure over the questions, rounded to four digits."""
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


async def import_entities(entities: Sequence[Json], user_id: str, services: Services) -> None:
    """Give the user the set's entities, as lines of `POST /api/rag/entities/bulk`, and link what is stored to them.

    Raises BadRequest with the first line that is refused.
    """
    lines = [_line(number, entity) for number, entity in enumerate(entities, 1)]
    for outcome in await entity_lines.run(lines, user_id, db=services.db, embedder=services.embedder):
        if outcome.error is not None:
            raise errors.BadRequest(f"Entity {outcome.number}: {outcome.error.message}", field="entities.jsonl")
    await relinking.drain(services.db, user_id, keys=services.cutting.entity_keys)


def _line(number: int, entity: Json) -> entity_lines.Line:
    draft = EntityDraft(
        type=entity["type"],
        name=entity["name"],
        aliases=tuple(entity.get("aliases") or ()),
        role=entity.get("role"),
        facts=tuple(entity.get("facts") or ()),
        description=entity.get("description"),
        metadata=entity.get("metadata") or {},
    )
    return entity_lines.Line(number, draft, members=tuple(entity.get("members") or ()))


async def _ingest(
    loaded: beir.EvaluationSet, user_id: str, services: Services, progress: Callable[[str, int, int], None]
) -> tuple[int, int]:
    """Store the set; returns chunks embedded and documents refused."""
    embedded = refused = done = 0
    outcomes = ingest.many(
        loaded.documents, user_id, db=services.db, embedder=services.embedder, cutting=services.cutting
    )
    async for outcome in outcomes:
        embedded += outcome.stored.embedded if outcome.stored else 0
        refused += outcome.stored is None
        done += 1
        progress("ingesting", done, len(loaded.documents))
    return embedded, refused


async def _forget_others(uris: set[str], user_id: str, services: Services) -> None:
    after = None
    while page := await documents.page(user_id, db=services.db, limit=1000, after=after, uri=None):
        for document in page:
            if document.uri not in uris:
                await documents.delete(document.document_id, user_id, db=services.db)
        after = (page[-1].created_at, page[-1].document_id)


def question(text: str, user_id: str, mode: str, fusion: Fusion, services: Services, *, explain: bool = False) -> Query:
    """A question as the endpoint would be asked it."""
    return Query(
        user_id,
        text,
        limit=LARGEST_LIMIT,
        mode=MODES.get(mode, "auto"),
        fusion=fusion,
        k=services.rrf_k,
        candidates=services.candidates,
        explain=explain,
        guidance=GUIDANCE.get(mode, FLAT),
    )


async def answer(asked: Query, services: Services, hopping: tuple[Extractor, Merge, int] | None = None) -> Answer:
    """The service's answer, by several hops where `hopping` says how."""
    if hopping is None:
        return await search.run(asked, services)
    extractor, merge, max_hops = hopping
    several = multihop.MultihopQuery(
        replace(asked, limit=LARGEST_MULTIHOP_LIMIT), max_hops=max_hops, extractor=extractor, merge=merge
    )
    return await multihop.run(several, services)


def ranked(found: Answer) -> list[str]:
    """The answer's documents by their first chunk."""
    return list(dict.fromkeys(str(hit.candidate.uri) for hit in found.hits))


def _latencies(took_ms: Sequence[float]) -> dict[str, float]:
    return {f"p{share}_ms": round(metrics.percentile(took_ms, share / 100), 2) for share in (50, 95)}
