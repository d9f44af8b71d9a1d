"""Searches inside the documents linked to the matched entities (the second pass of a two-pass search).

If many documents are linked, they are scored in batches, on scales that do not depend on the batch, until the top k is
stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.pipelines.entity_cache import EntityCache, get_or_find
from app.ranking import convergence
from app.shapes import Candidate, EntityMatch, Filters, HybridRequest, HybridResult, LegScores, Link
from app.store import entity_lookup, links, recall
from app.store.db import Reading, SearchTransaction, version

UNBATCHED_DOCUMENTS = 500
"""Linked documents up to which all are scored by one statement."""
BATCH = 50
BATCHES_AHEAD = 4
"""Batches that are fetched together behind those of the nearest documents: three leave a stable top k unchanged."""
MAX_CHUNKS = 5_000
"""Chunks that are scored in the batches fetched together; documents are rarely that long."""


@dataclass(frozen=True, slots=True)
class LinkedResult:
    """What was found in the linked documents: their links, the candidates, and a report for `explain`."""

    links: dict[UUID, Link]
    result: HybridResult
    report: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ScoredChunk:
    """A chunk of a batch and its score, 0 to 1, on a scale that does not depend on the batch."""

    legs: LegScores
    score: float


async def run(
    db: SearchTransaction,
    request: HybridRequest,
    matches: Sequence[EntityMatch],
    *,
    alpha: float,
    cache: EntityCache,
) -> LinkedResult | None:
    """Candidates from the linked documents that pass the filters; None if no document is linked."""
    scored = tuple((match.entity_id, match.score) for match in matches)
    linked = await get_or_find(
        cache.links,
        version(db),
        (request.user_id, scored),
        lambda: entity_lookup.documents(db, request.user_id, scored),
    )
    by_document = {link.document_id: link for link in _allowed(linked, request.filters)}
    if not by_document:
        return None
    if len(by_document) > UNBATCHED_DOCUMENTS:
        return await _in_batches(db, request, by_document, alpha=alpha)
    result = await recall.hybrid(db, narrowed(request, by_document))
    return LinkedResult(by_document, result, _report(len(by_document), batches=1, scored=1))


def narrowed(request: HybridRequest, documents: Iterable[UUID], **changes: Any) -> HybridRequest:
    """The same request, limited to these documents."""
    return replace(request, filters=replace(request.filters, document_ids=tuple(documents)), **changes)


def _allowed(linked: Iterable[Link], filters: Filters) -> list[Link]:
    if filters.document_ids is None:
        return list(linked)
    allowed = set(filters.document_ids)
    return [link for link in linked if link.document_id in allowed]


def _report(documents: int, *, batches: int, scored: int) -> dict[str, Any]:
    return {"linked_documents": documents, "batches": batches, "scored": scored, "skipped": batches - scored}


async def _in_batches(db: Reading, request: HybridRequest, linked: dict[UUID, Link], *, alpha: float) -> LinkedResult:
    """Score the documents of the best candidates of either leg first, then those with the strongest links."""
    first = await recall.hybrid(db, narrowed(request, linked, limit=2 * request.candidates, with_content=False))
    nearest = dict.fromkeys(candidate.document_id for candidate in first.candidates)
    order = [*nearest, *(document for document in linked if document not in nearest)]
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    bound = sum(term.idf * recall.MAX_PER_TERM * term.times for term in first.terms)
    stable = convergence.StableTopK(limit=request.limit)
    best: dict[UUID, _ScoredChunk] = {}
    scored = 0
    while scored < len(batches) and not stable.is_stable():
        fetched = batches[scored : max(scored, len(nearest) // BATCH) + BATCHES_AHEAD]
        leg_scores = await recall.scores(db, _all_chunks_of(request, [d for batch in fetched for d in batch]))
        for batch in fetched:
            scored += 1
            in_batch = {one.chunk_id: _ScoredChunk(one, _score(one, request, bound)) for one in _of(leg_scores, batch)}
            stable.add_batch({c: _blended(chunk, linked, alpha) for c, chunk in in_batch.items()})
            best |= in_batch
            if stable.is_stable():
                break
    leading = await _read(db, request, [best[c] for c in stable.top], {c.chunk_id: c for c in first.candidates})
    report = _report(len(order), batches=len(batches), scored=scored)
    return LinkedResult(linked, replace(first, candidates=tuple(leading)), report)


def _all_chunks_of(request: HybridRequest, documents: Sequence[UUID]) -> HybridRequest:
    """The request with limits that admit every chunk of the documents in both legs."""
    return narrowed(request, documents, candidates=MAX_CHUNKS, limit=MAX_CHUNKS, with_content=False)


async def _read(
    db: Reading, request: HybridRequest, leading: Sequence[_ScoredChunk], ranked: Mapping[UUID, Candidate]
) -> list[Candidate]:
    """The leading chunks as candidates, with their ranks among all linked documents if they have any."""
    read = await links.chunks(db, request.user_id, [chunk.legs.chunk_id for chunk in leading], vector=None)
    return [
        _candidate(chunk, read[chunk.legs.chunk_id][0], ranked.get(chunk.legs.chunk_id), request)
        for chunk in leading
        if chunk.legs.chunk_id in read
    ]


def _of(leg_scores: Iterable[LegScores], documents: Sequence[UUID]) -> Iterable[LegScores]:
    wanted = set(documents)
    return (one for one in leg_scores if one.document_id in wanted)


def _score(legs: LegScores, request: HybridRequest, bound: float) -> float:
    return convergence.score(legs.vector_score, legs.text_score, bound=bound, weights=request.weights)


def _blended(chunk: _ScoredChunk, linked: Mapping[UUID, Link], alpha: float) -> float:
    return alpha * chunk.score + (1 - alpha) * linked[chunk.legs.document_id].score


def _candidate(chunk: _ScoredChunk, read: Candidate, ranked: Candidate | None, request: HybridRequest) -> Candidate:
    return replace(
        read,
        content=read.content if request.with_content else "",
        score=chunk.score,
        vector_score=chunk.legs.vector_score,
        text_score=chunk.legs.text_score,
        vector_rank=ranked.vector_rank if ranked else None,
        text_rank=ranked.text_rank if ranked else None,
        rrf_score=ranked.rrf_score if ranked else None,
        convex_score=ranked.convex_score if ranked else None,
    )
