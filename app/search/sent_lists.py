"""Merges the lists of hits that a caller sends into one, and re-ranks and diversifies the result.

The lists may come from several searches, hops or systems. Each hit keeps every part of its score. Hits of other systems
need only an id and an order. Stored chunks are read only for re-ranking and diversifying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app import errors, limits
from app.concurrency import offload
from app.concurrency.limiter import UNLIMITED, Released
from app.database.transactions import retry_read
from app.documents.store import chunk_reads
from app.enums import Degraded, Json, ListMerge, MergeDetail, Rerank, Vector
from app.query import model_replacement, moved_fields, search_request
from app.query.search_request import MMR_LAMBDA, RERANK_WEIGHT, Ranking, Share
from app.query.search_types import Candidate
from app.requests import field_types
from app.search import hybrid_request, rank_fusion
from app.search.state import SearchContext
from app.search.steps import reranking_and_mmr
from app.services import Services

MAX_ID_LENGTH = 200
MAX_LISTS, MAX_HITS = 20, 200
HitId = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH)]


class RankedListHit(BaseModel):
    """A hit of any search. Only its id is required; other fields are returned unchanged."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    chunk_id: HitId = Field(description="Id by which equal hits of several lists are recognised.")
    document_id: HitId | None = Field(None, description="Id of the hit's document; `classic` counts hits by it.")
    content: Annotated[str, Field(max_length=100_000)] | None = Field(
        None, description="Text for the reranker, if the chunk is not stored here."
    )

    @property
    def as_sent(self) -> dict[str, Any]:
        """The fields that the caller sent."""
        return self.model_dump(exclude_unset=True)


class RankedList(field_types.WireModel):
    """A list of hits, best first."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="Name of the list, unique.")
    weight: Annotated[field_types.Number, Field(ge=0, le=100)] = Field(
        1.0, description="Weight of the list in the fusion."
    )
    hop: Annotated[field_types.Int, Field(ge=1, le=9)] | None = Field(
        None, description="Hop that returned the list; with `classic` the default is its position in `lists`."
    )
    hits: Annotated[list[RankedListHit], *field_types.at_most(MAX_HITS)] = Field(description="Hits, best first.")


def _uniquely_named(lists: list[RankedList]) -> list[RankedList]:
    if len({ranked.name for ranked in lists}) < len(lists):
        raise PydanticCustomError("duplicate_name", "Each list needs a name of its own: ranks are reported by name.")
    return lists


class RerankRequest(field_types.WireModel):
    """Lists of hits to merge into one."""

    moved = moved_fields.OF_MERGE

    query: field_types.QueryText | None = Field(
        None, description="Query that the hits are reranked against; required for reranking."
    )
    lists: Annotated[list[RankedList], *field_types.at_most(MAX_LISTS, at_least=1), AfterValidator(_uniquely_named)] = (
        Field(description="Lists to merge.")
    )
    k: Annotated[field_types.Int, Field(ge=1, le=limits.MAX_RANK_CONSTANT)] = Field(
        60, description="Rank constant of reciprocal rank fusion."
    )
    merge: ListMerge = Field(
        "rrf", description="classic adds a bonus for hits of hop 1 and for documents with a single hit."
    )
    rerank: Rerank = Field(
        "none",
        description="Rescore the top hits: stored chunks by cosine similarity to the query, or all hits with a text "
        "by the configured reranker.",
    )
    mmr: field_types.Flag = Field(
        False,
        description="Diversify the results by maximal marginal relevance, by vectors of stored chunks or by words.",
    )
    rerank_weight: Share | None = Field(None, description=RERANK_WEIGHT)
    mmr_lambda: Share | None = Field(None, description=MMR_LAMBDA)
    limit: Annotated[field_types.Int, Field(ge=1, le=MAX_HITS)] = Field(10, description="Maximum number of hits.")
    detail: MergeDetail = Field("full", description="Fields of each hit.")


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A merged hit: its combined score with the parts, and its rank in each list that contains it.

    `explain` has the best score that the lists allow, and the scores of re-ranking and MMR.
    """

    hit: RankedListHit
    score: float
    combined_score: float
    parts: Mapping[str, float]
    ranks: Mapping[str, int]
    hop: int
    explain: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The best hits of all lists, the number of distinct hits, and what could not be used."""

    hits: Sequence[RankedHit]
    total: int
    degraded: Sequence[Degraded] = ()


Known = Mapping[UUID, tuple[Candidate, float | None]]
HIT_COST = 100
"""Cost of merging one hit, in units of `offload.run`."""


async def run(merging: RerankRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> MergeResult:
    """Merge all lists into one, re-ranked and diversified as requested.

    Reads only chunks of the user. Raises BadRequest if a re-ranking needs a query and there is none,
    DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder or re-ranker
    only degrades the answer.
    """
    return await model_replacement.run(services.embedder, services.db, lambda: _merge(merging, user_id, services, turn))


async def _merge(merging: RerankRequest, user_id: str, services: Services, turn: Released) -> MergeResult:
    if merging.rerank != "none" and merging.query is None:
        raise errors.BadRequest("Re-ranking by cosine or by a provider needs the query.", field="query")
    size = HIT_COST * sum(len(ranking.hits) for ranking in merging.lists)
    merged = await offload.run(size, fuse, merging.lists, k=merging.k, method=merging.merge)
    if merging.rerank == "none" and not merging.mmr:
        return MergeResult(merged[: merging.limit], len(merged))
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        hits = await _reorder(merged, merging, context)
    return MergeResult(hits[: merging.limit], len(merged), context.degraded)


async def _reorder(merged: Sequence[RankedHit], merging: RerankRequest, context: SearchContext) -> list[RankedHit]:
    vector = None
    if merging.rerank == "cosine" and merging.query:
        vector = await hybrid_request.embed(merging.query, context)
    best = merged[: max(merging.limit, search_request.pool_size(merging.limit))]
    known = await _chunks(best, vector, context)
    passages = [_passage(one, known) for one in merged]
    usual = Ranking()
    options = reranking_and_mmr.RerankOptions(
        merging.query,
        vector,
        merging.rerank,
        merging.mmr,
        merging.limit,
        rerank_weight=usual.rerank_weight if merging.rerank_weight is None else merging.rerank_weight,
        mmr_lambda=usual.mmr_lambda if merging.mmr_lambda is None else merging.mmr_lambda,
    )
    ordered = await reranking_and_mmr.run(passages, options, context)
    return [
        replace(merged[one.position], score=one.score, explain={**merged[one.position].explain, **one.explain})
        for one in ordered
    ]


@retry_read
async def _chunks(best: Sequence[RankedHit], vector: Vector | None, context: SearchContext) -> Known:
    """The hits that are chunks of the user, with their cosines to the query."""
    chunk_ids = [chunk_id for one in best if (chunk_id := _chunk_id(one)) is not None]
    if not chunk_ids:
        return {}
    async with context.services.db.reading(context.user_id) as reading:
        return await chunk_reads.by_id(reading, chunk_ids, vector=vector)


def _chunk_id(merged: RankedHit) -> UUID | None:
    try:
        return UUID(merged.hit.chunk_id)
    except ValueError:
        return None


def _passage(merged: RankedHit, known: Known) -> reranking_and_mmr.RerankPassage:
    chunk_id = _chunk_id(merged)
    if chunk_id is None or chunk_id not in known:
        return reranking_and_mmr.RerankPassage(merged.score, text=merged.hit.content or "")
    candidate, cosine = known[chunk_id]
    return reranking_and_mmr.RerankPassage(merged.score, chunk_id, reranking_and_mmr.text_of(candidate), cosine)


def fuse(lists: Sequence[RankedList], *, k: int, method: ListMerge) -> list[RankedHit]:
    """Merge all lists into one. `score` is `combined_score` as a share of the best score that the lists allow."""
    hits: dict[str, RankedListHit] = {}
    hops: dict[str, int] = {}
    ranks: dict[str, dict[str, int]] = {}
    by_hop: dict[int, list[RankedList]] = {}
    for position, ranking in enumerate(lists, 1):
        hop = ranking.hop or (position if method == "classic" else 1)
        by_hop.setdefault(hop, []).append(ranking)
        for hit in ranking.hits:
            hits.setdefault(hit.chunk_id, hit)
            hops[hit.chunk_id] = min(hops.get(hit.chunk_id, hop), hop)
        for rank, hit_id in enumerate(dict.fromkeys(hit.chunk_id for hit in ranking.hits), 1):
            ranks.setdefault(hit_id, {})[ranking.name] = rank
    if method == "classic":
        scores = _classic(by_hop, hits, k)
        best = rank_fusion.max_classic(max(sum(one.weight / (k + 1) for one in of_hop) for of_hop in by_hop.values()))
    else:
        scores, best = _rrf(lists, k), sum(ranking.weight for ranking in lists) / (k + 1) or 1.0
    return [
        RankedHit(
            hits[i],
            score := min(1.0, scores[i].score / best),
            scores[i].score,
            scores[i].parts,
            ranks[i],
            hops[i],
            {"merge": {"best": best, "score": score}},
        )
        for i in rank_fusion.order(scores, hops)
    ]


def _rrf(lists: Sequence[RankedList], k: int) -> dict[str, rank_fusion.Scored]:
    return rank_fusion.rrf(
        [(ranking.name, ranking.weight, [h.chunk_id for h in ranking.hits]) for ranking in lists], k=k
    )


def _classic(
    by_hop: Mapping[int, Sequence[RankedList]], hits: Mapping[str, RankedListHit], k: int
) -> dict[str, rank_fusion.Scored]:
    """The classic score of each hit, from its RRF score within the first hop that found it."""
    return rank_fusion.classic(
        rank_fusion.HopHit(hit_id, hits[hit_id].document_id or hit_id, hop, scored.score)
        for hop, lists in by_hop.items()
        for hit_id, scored in _rrf(lists, k).items()
    )
