"""How good are the answers on a set with judgements?

Documents go in through the real pipeline and questions through the real search, at the endpoint's largest limit;
documents are ranked by their first chunk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.pipelines import documents, ingest, multihop, search
from app.pipelines.extraction import Extractor
from app.pipelines.multihop import Merge
from app.pipelines.services import Services
from app.proof import beir, metrics
from app.shapes import Answer, Fusion, Guidance, Mode, Query

LARGEST_LIMIT = 50
LARGEST_MULTIHOP_LIMIT = 20
MULTIHOP = "multihop"
MODES: dict[str, Mode] = {"auto": "auto", "hybrid": "auto", "vector": "semantic", "text": "lexical"}
"""How a strategy is asked: `hybrid` is both legs as the service fuses them by default, `auto` all defaults. They differ
where entities guide a search."""
FLAT = Guidance("off", boost=False)
GUIDANCE = {"auto": Guidance(), "two_pass": Guidance("force")}
"""Which modes entities guide; `two_pass` skips the rules of confidence."""


@dataclass(frozen=True, slots=True)
class Report:
    """Averages over the judged queries, latencies in milliseconds, and what the ingest did."""

    measures: dict[str, float]
    questions: int
    documents: int
    embedded: int
    skipped: int

    def as_json(self) -> dict[str, float | int]:
        """The report with every figure at the top level."""
        counts = {"queries": self.questions, "documents": self.documents, "embedded": self.embedded}
        return {**self.measures, "skipped": self.skipped, **counts}


async def run(
    folder: Path,
    *,
    mode: str,
    services: Services,
    fusion: Fusion = "auto",
    extractor: Extractor = "auto",
    merge: Merge = "linked",
    max_hops: int = 2,
    user: str | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Ingest the set in `folder` (what is there already is not embedded again) and ask its questions in `mode`.

    `extractor`, `merge` and `max_hops` count in the mode `multihop`. The set becomes the documents of a user of its
    own, or is added to those of `user`.
    """
    hopping = (extractor, merge, max_hops) if mode == MULTIHOP else None
    loaded = beir.load(folder)
    user_id = user or user_of(folder)
    embedded, refused = await _ingest(loaded, user_id, services, progress)
    if user is None:
        await _forget_others({str(upload.uri) for upload in loaded.documents}, user_id, services)
    rankings, took = [], []
    for place, asked in enumerate(loaded.questions):
        start = time.perf_counter()
        query = question(asked.text, user_id, mode, fusion, services)
        rankings.append(ranked(await answer(query, services, hopping)))
        took.append((time.perf_counter() - start) * 1000)
        progress("asking", place + 1, len(loaded.questions))
    measures = {**averages(rankings, loaded.questions), **_latencies(took)}
    stored = len(loaded.documents) - refused
    return Report(measures, len(loaded.questions), stored, embedded, loaded.skipped + refused)


def user_of(folder: Path) -> str:
    """A user of the set's own, so that several sets share a data dir without mixing."""
    return f"eval-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"


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
        return await search.run(asked, db=services.db, embedder=services.embedder, budget=services.budget)
    extractor, merge, max_hops = hopping
    several = multihop.Question(
        replace(asked, limit=LARGEST_MULTIHOP_LIMIT), max_hops=max_hops, extractor=extractor, merge=merge
    )
    return await multihop.run(
        several, db=services.db, embedder=services.embedder, budget=services.budget, llm=services.llm
    )


def ranked(found: Answer) -> list[str]:
    """The answer's documents by their first chunk."""
    return list(dict.fromkeys(str(hit.candidate.uri) for hit in found.hits))


def _latencies(took_ms: Sequence[float]) -> dict[str, float]:
    return {f"p{share}_ms": round(metrics.percentile(took_ms, share / 100), 2) for share in (50, 95)}
