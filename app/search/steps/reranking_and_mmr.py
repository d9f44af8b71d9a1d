"""Re-ranks the best hits by their cosine to the query or by a provider, then diversifies them by MMR.

If the provider fails or is not configured, the hits keep their scores. Maximal marginal relevance (MMR) greedily
maximises `λ · score − (1 − λ) · largest similarity to the selected` (Carbonell and Goldstein 1998). The similarity of
two hits is the cosine of their vectors, or the Jaccard index of their sets of words.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.database import sql
from app.database.transactions import retry_read
from app.documents.storing import document_drafts
from app.enums import Json, Rerank, Vector
from app.models import remote_calls
from app.query.search_request import pool_size
from app.query.search_types import Candidate
from app.search import replaced_chunks
from app.search.state import SearchContext, SearchState, Step

log = logging.getLogger(__name__)

MAX_WORDS = 500
"""Largest number of words that are compared, from the beginning of a text."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Selected:
    """A selected hit: its position in the input, from 0, its marginal relevance, and its largest similarity to the hits
    selected before it."""

    position: int
    value: float
    nearest: float


Similarity = Callable[[int, int], float]
"""Returns the similarity of the hits at two positions, at most 1; a negative value counts as 0."""


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's cosine to the query, if it has a vector, and to the other chunks, if asked for."""

    similarity: float | None
    alike: Mapping[UUID, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """How to re-rank, for which query, and how many passages to return; `keep_all` if a later step may drop some.

    `rerank_weight` is the weight of the cosine, `mmr_lambda` the weight of the score in MMR.
    """

    text: str | None
    vector: Vector | None
    rerank: Rerank
    mmr: bool
    limit: int
    rerank_weight: float
    mmr_lambda: float
    keep_all: bool = False


@dataclass(frozen=True, slots=True)
class RerankPassage:
    """A passage to order: its score and, if known, its chunk, its text and its cosine to the query."""

    score: float
    chunk_id: UUID | None = None
    text: str = ""
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage's position before the re-ranking, from 0, its new score, and the details of each step."""

    position: int
    score: float
    explain: Json = field(default_factory=dict)


async def run(
    passages: Sequence[RerankPassage], request: RerankOptions, context: SearchContext
) -> Sequence[RankedPassage]:
    """Re-rank the best passages, then select passages by MMR; `keep_all` also returns the others.

    If the re-ranking fails, `context.degraded` names it. Raises DatabaseUnavailable.
    """
    near = await _read_cosines(passages, request, context)
    ranked = [RankedPassage(position, one.score) for position, one in enumerate(passages)]
    if passages and request.rerank != "none":
        if new_scores := await _new_scores(passages, request, near, context):
            ranked = _rank(passages, request, new_scores)
        else:
            context.degraded.append("reranker_failed")
            log.debug("hits not re-ranked", extra={"action": "reranker_failed", "reason": request.rerank})
    if request.mmr:
        ranked = await offload.run(_size(passages, request, near), _diversify, ranked, passages, request, near)
    return ranked


async def rerank(search: SearchState) -> SearchState:
    """Put the best hits into the order of their new scores. After a provider's call, drop hits that have changed."""
    search = await _reorder(search, rerank=search.query.ranking.rerank)
    return await _drop_stale(search) if search.query.ranking.rerank == "provider" else search


async def _reorder(search: SearchState, *, rerank: Rerank = "none", mmr: bool = False) -> SearchState:
    """The search with its hits in the new order, with their new scores and the details of each step.

    MMR keeps all hits if a minimum, collapsing, grouping or a later page may use hits beyond the limit.
    """
    query, ranking = search.query, search.query.ranking
    uses_more = query.has_minimum or query.is_collapsed or query.group_size is not None or query.cursor is not None
    options = RerankOptions(
        search.parsed.text, search.request.vector, rerank, mmr, query.limit, ranking.rerank_weight,
        ranking.mmr_lambda, search.keep_all or uses_more,
    )  # fmt: skip
    passages = [
        RerankPassage(hit.candidate.score, hit.candidate.chunk_id, text_of(hit.candidate), hit.candidate.vector_score)
        for hit in search.hits
    ]
    with search.context.timed("rerank"):
        ordered = await run(passages, options, search.context)
    hits = [
        hit._replace(
            candidate=hit.candidate.with_score(ranked.score),
            explain={**(hit.explain or {}), **ranked.explain},
        )
        for ranked in ordered
        for hit in (search.hits[ranked.position],)
    ]
    return replace(search, hits=hits)


@retry_read
async def _drop_stale(search: SearchState) -> SearchState:
    """Drop the hits whose documents were replaced or deleted while the provider was called."""
    async with search.context.services.db.searching(search.context.user_id) as reading:
        stale = await replaced_chunks.find([hit.candidate for hit in search.hits], search.context, reading)
    search.context.version = reading.version
    return replace(search, hits=[hit for hit in search.hits if hit.candidate.chunk_id not in stale])


RERANKING = Step(
    uses=attrgetter("query.is_reranked"),
    order=rerank,
    explain=lambda search: {"rerank": search.query.ranking.rerank},
)
DIVERSITY = Step(
    uses=attrgetter("query.ranking.mmr"),
    order=partial(_reorder, mmr=True),
    explain=lambda search: {"mmr": search.query.ranking.mmr},
)


def text_of(candidate: Candidate) -> str:
    """A chunk as it is embedded and indexed: its document's title, its heading path and its content."""
    content = candidate.content if candidate.end_offset else ""
    return document_drafts.text_below(candidate.title, candidate.heading_path, content)


@retry_read
async def _read_cosines(
    passages: Sequence[RerankPassage], request: RerankOptions, context: SearchContext
) -> Mapping[UUID, Near]:
    """The cosines of stored chunks: to the query if one of them is unknown, and to each other for MMR."""
    best = passages[: max(request.limit, pool_size(request.limit))]
    known = {one.chunk_id: one.cosine for one in best if one.chunk_id}
    unknown = request.rerank == "cosine" and request.vector is not None and None in known.values()
    if not known or not (unknown or request.mmr):
        return {}
    binds = {"user_id": context.user_id, "chunk_ids": list(known), "embedding": request.vector}
    async with context.services.db.reading(context.user_id) as db:
        rows = list(await db.execute(sql.statement("similarity_matrix", *(("matrix",) if request.mmr else ())), binds))
    ids = [row.chunk_id for row in rows]
    return {
        row.chunk_id: Near(row.similarity, dict(zip(ids, row.similarities, strict=True)) if request.mmr else {})
        for row in rows
    }


async def _new_scores(
    passages: Sequence[RerankPassage], request: RerankOptions, near: Mapping[UUID, Near], context: SearchContext
) -> Mapping[int, float]:
    """The new scores of the best passages, by position. Empty if no cosine is known or the provider fails."""
    best = range(min(len(passages), pool_size(request.limit)))
    if request.rerank == "cosine":
        cosines = {position: _cosine(passages[position], near) for position in best if request.vector is not None}
        return {position: cosine for position, cosine in cosines.items() if cosine is not None}
    with_text = [position for position in best if passages[position].text.strip()]
    services = context.services
    if services.reranker is None or not with_text:
        return {}
    try:
        async with context.waiting_for(services.reranker), asyncio.timeout(services.budget.rerank_s):
            scores = await services.reranker.scores(
                request.text or "", [passages[position].text for position in with_text]
            )
    except (errors.ProviderError, TimeoutError) as error:
        remote_calls.log_failure("re-ranking failed", error, action="reranker_failed")
        return {}
    return dict(zip(with_text, scores, strict=True))


def _cosine(passage: RerankPassage, near: Mapping[UUID, Near]) -> float | None:
    if passage.cosine is not None or passage.chunk_id is None:
        return passage.cosine
    found = near.get(passage.chunk_id)
    return found.similarity if found else None


def blend(score: float, cosine: float | None, *, weight: float) -> float:
    """Blends a score with a cosine. A negative cosine counts as 0; None leaves the score unchanged."""
    return score if cosine is None else weight * min(1.0, max(0.0, cosine)) + (1 - weight) * score


def order(scores: Sequence[float], again: Mapping[int, float]) -> list[tuple[int, float]]:
    """Orders hits: first the hits with a new score, best first, then the others; ties keep the input order.

    Returns positions and scores. `again` maps positions to new scores. The scores of the others are capped at the
    lowest new score, so that scores never increase down the list.
    """
    first = sorted(again.items(), key=lambda one: (-round(one[1], 12), one[0]))
    lowest = first[-1][1] if first else math.inf
    rest = [(position, min(score, lowest)) for position, score in enumerate(scores) if position not in again]
    return first + rest


def _rank(
    passages: Sequence[RerankPassage], request: RerankOptions, new_scores: Mapping[int, float]
) -> list[RankedPassage]:
    """The passages in the order of their new scores, each with the values that its score was computed from.

    A cosine is blended with the previous score; a provider's score replaces it.
    """
    blended, weight = new_scores, 1.0
    if request.rerank == "cosine":
        best, weight = passages[: pool_size(request.limit)], request.rerank_weight
        blended = {place: blend(one.score, new_scores.get(place), weight=weight) for place, one in enumerate(best)}
    limit = min(blended.values())
    ranked = []
    for position, score in order([passage.score for passage in passages], blended):
        step: dict[str, Any] = {
            "by": request.rerank,
            "value": new_scores.get(position),
            "weight": weight,
            "limit": None if position in blended else limit,
            "place_before": position + 1,
            "score_before": passages[position].score,
            "score": score,
        }
        ranked.append(RankedPassage(position, score, {"rerank": step}))
    return ranked


def _diversify(
    ranked: Sequence[RankedPassage],
    passages: Sequence[RerankPassage],
    request: RerankOptions,
    near: Mapping[UUID, Near],
) -> list[RankedPassage]:
    """The passages that MMR selects among the best. With `keep_all` the others follow."""
    pool = max(request.limit, pool_size(request.limit))
    best = ranked[:pool]
    similarity = _similarity([passages[one.position] for one in best], near)
    limit = pool if request.keep_all else request.limit
    trade = request.mmr_lambda
    chosen = select([one.score for one in best], similarity, limit=limit, trade=trade)
    selected = []
    for one in chosen:
        score, details = best[one.position].score, best[one.position].explain  # MMR changes the order, not the scores
        step = {"value": one.value, "lambda": trade, "nearest": one.nearest, "place_before": one.position + 1}
        details = {**details, "mmr": {**step, "score_before": score, "score": score}}
        selected.append(replace(best[one.position], explain=details))
    return [*selected, *ranked[pool:]] if request.keep_all else selected


def _size(passages: Sequence[RerankPassage], request: RerankOptions, near: Mapping[UUID, Near]) -> int:
    """The size of an MMR selection for `offload.run`: pairs to compare, and characters of texts without a vector."""
    pool = max(request.limit, pool_size(request.limit))
    without_vector = (passage for passage in passages[:pool] if passage.chunk_id not in near)
    return 2 * pool * request.limit + sum(len(passage.text) for passage in without_vector)


def _similarity(passages: Sequence[RerankPassage], near: Mapping[UUID, Near]) -> Similarity:
    """The similarity of two passages: by their vectors if both have one, else by their words."""
    sets: list[int] = []

    def by_words(one: int, other: int) -> float:
        if not sets:
            sets.extend(bit_sets(words(passage.text) for passage in passages))
        return jaccard(sets[one], sets[other])

    def similarity(one: int, other: int) -> float:
        chunk_id, other_id = passages[one].chunk_id, passages[other].chunk_id
        known = near.get(chunk_id) if chunk_id else None
        cosine = known.alike.get(other_id) if known and other_id else None
        return by_words(one, other) if cosine is None else cosine

    return similarity


def words(text: str) -> frozenset[str]:
    """Returns the set of the first MAX_WORDS words of a text, case-folded."""
    found = itertools.islice(_WORD.finditer(text), MAX_WORDS)
    return frozenset(match[0].casefold() for match in found)


def bit_sets(word_sets: Iterable[frozenset[str]]) -> list[int]:
    """Returns each set of words as an integer with one bit per word, so that comparisons need no hashing."""
    bits: dict[str, int] = {}
    return [_bit_set(word_set, bits) for word_set in word_sets]


def _bit_set(word_set: frozenset[str], bits: dict[str, int]) -> int:
    positions = [bits.setdefault(word, len(bits)) for word in word_set]
    whole = bytearray(max(positions, default=0) // 8 + 1)
    for bit in positions:
        whole[bit // 8] |= 1 << bit % 8
    return int.from_bytes(whole, "little")


def jaccard(one: int, other: int) -> float:
    """Returns the Jaccard index of two bit sets, 0 to 1; 0 if both are empty."""
    return (one & other).bit_count() / whole.bit_count() if (whole := one | other) else 0.0


def select(scores: Sequence[float], similarity: Similarity, *, limit: int, trade: float) -> list[Selected]:
    """Returns up to `limit` hits in the order of their selection; `trade` is λ, 1 for relevance alone.

    Of hits with equal marginal relevance, it selects the first. It compares each selected hit with all remaining hits.
    """
    nearest = [0.0] * len(scores)
    remaining = list(range(len(scores)))
    chosen: list[Selected] = []

    def marginal_relevance(position: int) -> float:
        return trade * scores[position] - (1 - trade) * nearest[position]

    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda position: (round(marginal_relevance(position), 12), -position))
        chosen.append(Selected(best, marginal_relevance(best), nearest[best]))
        remaining.remove(best)
        for position in remaining if len(chosen) < limit else ():
            nearest[position] = max(nearest[position], similarity(best, position))
    return chosen
