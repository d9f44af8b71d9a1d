"""Serves the endpoints for multi-hop search and for merging lists of hits."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request, Response
from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from app import errors, limits
from app.concurrency import offload
from app.http import admission, auth, bodies, problems, responses
from app.kinds import ListMerge, MergeDetail, Rerank
from app.query import moved_fields
from app.query.search_request import MMR_LAMBDA, RERANK_WEIGHT, Ranking, SearchRequest, Share
from app.requests import wire
from app.search import merge_lists, search
from app.search.api import router as search_router
from app.search.api.search_responses import SearchAnswer
from app.search.merge_lists import MergeRequest

MAX_ID_LENGTH = 200
MAX_LISTS, MAX_HITS = 20, 200
HitId = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH)]


def _text(given: object) -> object:
    return "" if given is None else given


class RankedListHit(BaseModel):
    """A hit of any search. Only its id is required; other fields are returned unchanged."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    chunk_id: HitId = Field(description="Id by which equal hits of several lists are recognised.")
    document_id: HitId | None = Field(None, description="Id of the hit's document; `classic` counts hits by it.")
    content: Annotated[str, Field(max_length=100_000), BeforeValidator(_text)] = Field(
        "", description="Text for the reranker, if the chunk is not stored here."
    )


class RankedList(wire.WireModel):
    """A list of hits, best first."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="Name of the list, unique.")
    weight: Annotated[wire.Number, Field(ge=0, le=100)] = Field(1.0, description="Weight of the list in the fusion.")
    hop: Annotated[wire.Int, Field(ge=1, le=9)] | None = Field(
        None, description="Hop that returned the list; with `classic` the default is its position in `lists`."
    )
    hits: Annotated[list[RankedListHit], *wire.at_most(MAX_HITS)] = Field(description="Hits, best first.")

    def shape(self) -> merge_lists.HitList:
        """The list as a core type."""
        hits = [
            merge_lists.InputHit(
                hit_id=hit.chunk_id, document_id=hit.document_id, content=hit.content, payload=hit.model_dump()
            )
            for hit in self.hits
        ]
        return merge_lists.HitList(self.name, hits, self.weight, self.hop)


def _uniquely_named(lists: list[RankedList]) -> list[RankedList]:
    if len({ranked.name for ranked in lists}) < len(lists):
        raise PydanticCustomError("duplicate_name", "Each list needs a name of its own: ranks are reported by name.")
    return lists


class RerankRequest(wire.WireModel):
    """Lists of hits to merge into one."""

    moved = moved_fields.OF_MERGE

    query: wire.QueryText | None = Field(
        None, description="Query that the hits are reranked against; required for reranking."
    )
    lists: Annotated[list[RankedList], *wire.at_most(MAX_LISTS, at_least=1), AfterValidator(_uniquely_named)] = Field(
        description="Lists to merge."
    )
    k: Annotated[wire.Int, Field(ge=1, le=limits.MAX_RANK_CONSTANT)] = Field(
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
    mmr: wire.Flag = Field(
        False,
        description="Diversify the results by maximal marginal relevance, by vectors of stored chunks or by words.",
    )
    rerank_weight: Share | None = Field(None, description=RERANK_WEIGHT)
    mmr_lambda: Share | None = Field(None, description=MMR_LAMBDA)
    limit: Annotated[wire.Int, Field(ge=1, le=MAX_HITS)] = Field(10, description="Maximum number of hits.")
    detail: MergeDetail = Field("full", description="Fields of each hit.")

    def shape(self, user_id: str) -> MergeRequest:
        """The request as a core type."""
        usual = Ranking()
        return MergeRequest(
            user_id=user_id,
            lists=[ranked.shape() for ranked in self.lists],
            limit=self.limit,
            k=self.k,
            method=self.merge,
            query=self.query,
            rerank=self.rerank,
            mmr=self.mmr,
            rerank_weight=usual.rerank_weight if self.rerank_weight is None else self.rerank_weight,
            mmr_lambda=usual.mmr_lambda if self.mmr_lambda is None else self.mmr_lambda,
        )


class MergedHit(responses.Response):
    """A hit of the merged list."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "hit_id"), description="Id of the hit.")
    score: float = Field(
        description="`combined_score` divided by the maximum that these lists allow, 0 to 1; after reranking its score."
    )
    combined_score: float = Field(description="Score of the fusion.")
    hop: int = Field(description="Earliest hop of the lists that contain the hit.")
    ranks: dict[str, int] = Field(description="Rank in each list that contains the hit, from 1.")
    parts: dict[str, float] = Field(description="Summands of `combined_score`.")
    explain: dict[str, Any] = Field(description="Best score that the lists allow, and the steps of reranking and MMR.")
    hit: dict[str, Any] = Field(
        validation_alias=AliasPath("hit", "payload"),
        description="The hit as sent, from the first list that contains it.",
    )


class RerankResponse(responses.Response):
    """The merged list with `detail: full`."""

    detail: Literal["full"] = Field(description="Fields of the hits, as requested.")
    results: list[MergedHit] = Field(description="Hits, best first.")
    merge: ListMerge = Field(description="Method by which the lists were merged.")
    total_results: int = Field(description="Number of different hits in all lists.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


class CompactMergedHit(responses.Response):
    """A hit of the merged list without the parts of its score."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "hit_id"), description="Id of the hit.")
    score: responses.RoundedScore = Field(description="Score of the hit, 0 to 1, rounded to four decimals.")
    hit: dict[str, Any] = Field(
        validation_alias=AliasPath("hit", "payload"),
        description="The hit as sent, from the first list that contains it.",
    )


class CompactRerankResponse(responses.Response):
    """The merged list with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactMergedHit] = Field(description="Hits, best first.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


class ScoredHitId(responses.Response):
    """The id and the score of a hit of the merged list."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "hit_id"), description="Id of the hit.")
    score: responses.RoundedScore = Field(description="Score of the hit, 0 to 1, rounded to four decimals.")


class IdsRerankResponse(responses.Response):
    """The merged list with `detail: ids`."""

    detail: Literal["ids"] = Field(description="Fields of the hits, as requested.")
    results: list[ScoredHitId] = Field(description="Hits, best first.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


RerankAnswer = TypeAliasType(
    "RerankAnswer",
    Annotated[
        RerankResponse | CompactRerankResponse | IdsRerankResponse,
        Field(
            discriminator="detail",
            description="The merged list, in the shape that `detail` selects.",
        ),
    ],
)


def merged_response(
    merged: merge_lists.MergeResult, request: RerankRequest
) -> RerankResponse | CompactRerankResponse | IdsRerankResponse:
    """The response model of a merged list by the `detail` of the request."""
    degraded = list(merged.degraded)
    if request.detail == "compact":
        compact = [CompactMergedHit.of(hit) for hit in merged.hits]
        return CompactRerankResponse(detail="compact", results=compact, degraded=degraded)
    if request.detail == "ids":
        return IdsRerankResponse(detail="ids", results=[ScoredHitId.of(hit) for hit in merged.hits], degraded=degraded)
    return RerankResponse(
        detail="full",
        results=[MergedHit.of(hit) for hit in merged.hits],
        merge=request.merge,
        total_results=merged.total,
        degraded=degraded,
    )


router = APIRouter(prefix="/api/rag", tags=["search"], route_class=bodies.SearchRoute, responses=problems.AUTHENTICATED)
lists_router = APIRouter(
    prefix="/api/rag", tags=["search"], route_class=bodies.ListsRoute, responses=problems.AUTHENTICATED
)

_MULTIHOP_EXAMPLES = {
    "two documents": {
        "summary": "The answer is in a document without the words of the question",
        "value": {"query": "Which musical instrument does the author of the backfill guide play?"},
    },
    "explained": {
        "summary": "Up to three hops, filtered and explained",
        "value": {
            "query": "Who supplies the sensor that failed in the March outage?",
            "explain": True,
            "ranking": {"hops": {"max_hops": 3, "extractor": "entities"}},
        },
    },
}
# Chunks of sample/decisions/D-019-lime.md and D-014-sync-interval.md: ids of chunks follow from URI and text.
_LIME, _INTERVAL = "e0e5bc55-fb8e-5779-add3-0a16a3709a5c", "79f7ea4c-780c-5122-a1fb-774facdc3a6d"
_RERANK_EXAMPLES = {
    "two systems": {
        "summary": "Lists of two searches",
        "value": {
            "lists": [
                {"name": "ours", "hits": [{"chunk_id": "tides"}, {"chunk_id": "buoys"}]},
                {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "buoys"}, {"chunk_id": "storms"}]},
            ]
        },
    },
    "re-ranked": {
        "summary": "Stored chunks reranked against a query, without near duplicates",
        "value": {
            "query": "Why do the buoys not report every minute?",
            "lists": [{"name": "theirs", "hits": [{"chunk_id": _LIME}, {"chunk_id": _INTERVAL}]}],
            "rerank": "cosine",
            "mmr": True,
        },
    },
}


@router.post(
    "/search/multihop",
    operation_id="search_multihop",
    summary="Search over several hops",
    response_model=SearchAnswer,
    responses=problems.PAGED_SEARCH,
)
async def search_multihop(
    body: Annotated[SearchRequest, Body(openapi_examples=_MULTIHOP_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Search, follow names in the passages found, and order the hits of all hops.

    An error in a later hop does not fail the request; see `hops` and `degraded`.
    """
    query = _over_hops(body)
    return await search_router.respond(request, user_id, partial(search.run, query, user_id, use), query, use)


@lists_router.post(
    "/rerank",
    operation_id="rerank",
    summary="Merge lists of hits",
    response_model=RerankAnswer,
    responses=problems.SEARCH,
)
async def merge(
    body: Annotated[RerankRequest, Body(openapi_examples=_RERANK_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Fuse lists of hits from several searches, hops or systems into one, with the summands of each score.

    Stored chunks are read only for `rerank` and `mmr`. If reranking fails, the fused order is returned.
    """
    size = request.state.body_bytes
    query = await offload.run(size, body.shape, user_id)
    merged = await admission.in_turn(request, user_id, partial(merge_lists.run, query, use))
    return await responses.json(size, partial(merged_response, merged, body))


def _over_hops(query: SearchRequest) -> SearchRequest:
    """The request over several hops. Raises BadRequest if it asks for another depth."""
    if "depth" in query.model_fields_set and query.depth != "thorough":
        raise errors.BadRequest("This search always goes over several hops: leave depth out.", field="depth")
    return query.changed(depth="thorough")
