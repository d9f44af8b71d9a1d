"""Re-ranks and diversifies the best hits of a search.

After fusion and entity boosts, the best hits are scored again by their cosine to the query or by a provider, then
diversified by MMR. If the provider fails or is not configured, the hits keep their scores.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app import errors
from app.pipelines import offload
from app.pipelines.context import SearchContext
from app.ranking import mmr, rescoring
from app.ranking.rescoring import Rescored
from app.shapes import Candidate, Degraded, Hit, Json, Query, Rerank, Vector
from app.store import similarity_matrix
from app.store.db import Database, retry_read
from app.store.similarity_matrix import Near

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """What is wanted: for which question, and how many; `all_of_them` where a later floor may drop any."""

    user_id: str
    text: str | None
    vector: Vector | None
    rerank: Rerank
    mmr: bool
    limit: int
    all_of_them: bool = False


@dataclass(frozen=True, slots=True)
class RerankPassage:
    """What is to be ordered: its score (0 to 1) and, as far as known, its chunk, what it says, and its cosine."""

    score: float
    chunk_id: UUID | None = None
    text: str = ""
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """Where a passage stood, from 0, its score now, and what each step made of it."""

    place: int
    score: float
    explain: Json


@dataclass(frozen=True, slots=True)
class Reranking:
    """The passages in their order; under MMR without those that it did not choose."""

    placed: Sequence[RankedPassage]
    degraded: Sequence[Degraded] = ()


async def run(passages: Sequence[RerankPassage], request: RerankOptions, context: SearchContext) -> Reranking:
    """Score the best again, then choose those that differ. Raises DatabaseUnavailable."""
    near = await _near(passages, request, db=context.services.db)
    again = await _again(passages, request, near, context) if passages and request.rerank != "none" else {}
    failed = bool(passages) and request.rerank != "none" and not again
    if failed:
        log.debug("the order stays as it was", extra={"action": "reranker_failed", "reason": request.rerank})
    scored = rescoring.ordered([passage.score for passage in passages], _scores(passages, request, again))
    placed = [RankedPassage(one.position, one.score, _explained(one, passages, request, again)) for one in scored]
    if request.mmr:
        placed = await offload.run(_size(passages, request, near), _differing, placed, passages, request, near)
    return Reranking(placed, ("reranker_failed",) if failed else ())


async def hits(
    found: Sequence[Hit], query: Query, text: str, vector: Vector | None, context: SearchContext
) -> Reranking:
    """The order of a search's hits; see `applied`."""
    request = RerankOptions(
        query.user_id, text, vector, query.rerank, query.mmr, query.limit, all_of_them=query.min_confidence is not None
    )
    passages = [
        RerankPassage(hit.candidate.score, hit.candidate.chunk_id, text_of(hit.candidate), hit.candidate.vector_score)
        for hit in found
    ]
    return await run(passages, request, context)


def applied(found: Sequence[Hit], ordered: Reranking) -> list[Hit]:
    """The hits in that order, with what each step made of them."""
    return [
        replace(hit, candidate=replace(hit.candidate, score=placed.score), explain=placed.explain)
        for placed in ordered.placed
        for hit in (found[placed.place],)
    ]


def pool_size(limit: int) -> int:
    """How many candidates are looked at for so many hits."""
    return rescoring.pool_size(limit)


def is_wanted(query: Query) -> bool:
    """Whether a search asks for any of it."""
    return query.rerank != "none" or query.mmr


def text_of(candidate: Candidate) -> str:
    """A chunk as it is embedded and indexed: its document's title, its heading path and its content."""
    return "\n".join(part for part in (candidate.title, " › ".join(candidate.heading_path), candidate.content) if part)


async def _near(passages: Sequence[RerankPassage], request: RerankOptions, *, db: Database) -> Mapping[UUID, Near]:
    """Cosines of stored chunks, to the question where they are not known, and to each other where they must differ."""
    known = [
        passage for passage in passages[: max(request.limit, rescoring.pool_size(request.limit))] if passage.chunk_id
    ]
    unsure = request.rerank == "cosine" and request.vector is not None and any(p.cosine is None for p in known)
    if not known or not (unsure or request.mmr):
        return {}
    return await _read_near(db, request, list(dict.fromkeys(passage.chunk_id for passage in known if passage.chunk_id)))


@retry_read
async def _read_near(db: Database, request: RerankOptions, chunk_ids: Sequence[UUID]) -> Mapping[UUID, Near]:
    async with db.reading(request.user_id) as reading:
        return await similarity_matrix.of(reading, request.user_id, chunk_ids, vector=request.vector, among=request.mmr)


async def _again(
    passages: Sequence[RerankPassage], request: RerankOptions, near: Mapping[UUID, Near], context: SearchContext
) -> Mapping[int, float]:
    """What the best are worth, by place: cosines or a provider's scores, as far as there are any."""
    best = range(min(len(passages), rescoring.pool_size(request.limit)))
    if request.rerank == "cosine":
        cosines = {place: _cosine(passages[place], near) for place in best} if request.vector is not None else {}
        return {place: cosine for place, cosine in cosines.items() if cosine is not None}
    telling = [place for place in best if passages[place].text.strip()]
    services = context.services
    if services.reranker is None or not telling:
        return {}
    try:
        async with context.turn.released(), asyncio.timeout(services.budget.rerank_s):
            scores = await services.reranker.scores(request.text or "", [passages[place].text for place in telling])
    except (errors.ProviderError, TimeoutError) as error:
        log.warning("re-ranking failed: %s", type(error).__name__, extra={"action": "reranker_failed"})
        return {}
    return dict(zip(telling, scores, strict=True))


def _cosine(passage: RerankPassage, near: Mapping[UUID, Near]) -> float | None:
    if passage.cosine is not None or passage.chunk_id is None:
        return passage.cosine
    found = near.get(passage.chunk_id)
    return found.similarity if found else None


def _scores(
    passages: Sequence[RerankPassage], request: RerankOptions, again: Mapping[int, float]
) -> Mapping[int, float]:
    """The new scores by place. A cosine is blended, and a passage without one keeps its score among the others."""
    if request.rerank != "cosine" or not again:
        return again
    best = range(min(len(passages), rescoring.pool_size(request.limit)))
    return {place: rescoring.blended(passages[place].score, again.get(place)) for place in best}


def _explained(
    one: Rescored, passages: Sequence[RerankPassage], request: RerankOptions, again: Mapping[int, float]
) -> dict[str, Any]:
    if not again:
        return {}
    return {
        "rerank": {
            "by": request.rerank,
            "value": again.get(one.position),
            "score_before": passages[one.position].score,
            "place_before": one.position + 1,
        }
    }


def _differing(
    placed: Sequence[RankedPassage],
    passages: Sequence[RerankPassage],
    request: RerankOptions,
    near: Mapping[UUID, Near],
) -> list[RankedPassage]:
    """Those that say something new first, chosen among as many as are scored again; the others follow if all count."""
    pool = max(request.limit, rescoring.pool_size(request.limit))
    best = placed[:pool]
    alike = _similarity([passages[one.place] for one in best], near)
    limit = pool if request.all_of_them else request.limit
    chosen = [
        replace(best[c.position], explain={**best[c.position].explain, "mmr": _mmr_explained(c)})
        for c in mmr.select([one.score for one in best], alike, limit=limit)
    ]
    return [*chosen, *placed[pool:]] if request.all_of_them else chosen


def _mmr_explained(chosen: mmr.Selected) -> dict[str, Any]:
    return {"value": chosen.value, "nearest": chosen.nearest, "place_before": chosen.position + 1}


def _size(passages: Sequence[RerankPassage], request: RerankOptions, near: Mapping[UUID, Near]) -> int:
    """A measure of a selection's cost: the pairs that are compared, and the characters of texts without a vector."""
    pool = max(request.limit, rescoring.pool_size(request.limit))
    bare = (passage for passage in passages[:pool] if passage.chunk_id not in near)
    return 2 * pool * request.limit + sum(len(passage.text) for passage in bare)


def _similarity(passages: Sequence[RerankPassage], near: Mapping[UUID, Near]) -> mmr.Similarity:
    """The similarity of two passages: by their vectors where both have one, else by their words."""
    sets: list[int] = []

    def by_words(one: int, other: int) -> float:
        if not sets:
            sets.extend(mmr.bit_sets(mmr.words(passage.text) for passage in passages))
        return mmr.jaccard(sets[one], sets[other])

    def alike(one: int, other: int) -> float:
        chunk_id, other_id = passages[one].chunk_id, passages[other].chunk_id
        known = near.get(chunk_id) if chunk_id else None
        cosine = known.alike.get(other_id) if known and other_id else None
        return by_words(one, other) if cosine is None else cosine

    return alike
