"""Serves the endpoint that merges lists of hits."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Body, Request, Response
from pydantic import AliasPath, Field
from typing_extensions import TypeAliasType

from app.enums import ListMerge
from app.http import admission, auth, bodies, problems, responses
from app.search import sent_lists
from app.search.sent_lists import RerankRequest

HitAsSent = Annotated[
    dict[str, Any],
    Field(
        validation_alias=AliasPath("hit", "as_sent"),
        description="The hit as sent, from the first list that contains it.",
    ),
]


class MergedHit(responses.Response):
    """A hit of the merged list."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "chunk_id"), description="Id of the hit.")
    score: float = Field(
        description="`combined_score` divided by the maximum for these lists, 0 to 1; after reranking, the new score."
    )
    combined_score: float = Field(description="Score of the fusion.")
    hop: int = Field(description="Earliest hop of the lists that contain the hit.")
    ranks: dict[str, int] = Field(description="Rank in each list that contains the hit, from 1.")
    parts: dict[str, float] = Field(description="Summands of `combined_score`.")
    explain: dict[str, Any] = Field(description="Best score that the lists allow, and the steps of reranking and MMR.")
    hit: HitAsSent


class RerankResponse(responses.Response):
    """The merged list with `detail: full`."""

    detail: Literal["full"] = Field(description="Fields of the hits, as requested.")
    results: list[MergedHit] = Field(description="Hits, best first.")
    merge: ListMerge = Field(description="Method by which the lists were merged.")
    total_results: int = Field(description="Number of different hits in all lists.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


class ScoredHitId(responses.Response):
    """The id and the score of a hit of the merged list."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "chunk_id"), description="Id of the hit.")
    score: responses.RoundedScore = Field(description="Score of the hit, 0 to 1, rounded to four decimals.")


class CompactMergedHit(ScoredHitId):
    """A hit of the merged list without the parts of its score."""

    hit: HitAsSent


class CompactRerankResponse(responses.Response):
    """The merged list with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactMergedHit] = Field(description="Hits, best first.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


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
    merged: sent_lists.MergeResult, request: RerankRequest
) -> RerankResponse | CompactRerankResponse | IdsRerankResponse:
    """The response model of a merged list, in the shape that `detail` selects."""
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


router = bodies.router("search", bodies.ListsRoute)

# Chunks of sample/decisions/D-019-lime.md and D-014-sync-interval.md. Ids of chunks are derived from URI and text.
_LIME, _INTERVAL = "e0e5bc55-fb8e-5779-add3-0a16a3709a5c", "79f7ea4c-780c-5122-a1fb-774facdc3a6d"
_EXAMPLES = {
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
    "/rerank",
    summary="Merge lists of hits",
    response_model=RerankAnswer,
    responses=problems.SEARCH,
)
async def rerank(
    body: Annotated[RerankRequest, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    user_id: auth.Searcher,
    use: auth.ReadUse,
) -> Response:
    """Fuse lists of hits from several searches, hops or systems into one, with the summands of each score.

    Stored chunks are read only for `rerank` and `mmr`. If reranking fails, the fused order is returned.
    """
    merged = await admission.in_turn(request, user_id, partial(sent_lists.run, body, user_id, use))
    return await responses.json(request.state.body_bytes, partial(merged_response, merged, body))
