"""Defines the request and response models of merging lists of hits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from app import limits
from app.http.responses import Response, RoundedScore
from app.kinds import ListMerge, MergeDetail, Rerank
from app.query import moved_fields
from app.query.search_request import MMR_LAMBDA, RERANK_WEIGHT, Ranking, Share
from app.requests import wire
from app.search import merge_lists
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


class MergedHit(Response):
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


class RerankResponse(Response):
    """The merged list with `detail: full`."""

    detail: Literal["full"] = Field(description="Fields of the hits, as requested.")
    results: list[MergedHit] = Field(description="Hits, best first.")
    merge: ListMerge = Field(description="Method by which the lists were merged.")
    total_results: int = Field(description="Number of different hits in all lists.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


class CompactMergedHit(Response):
    """A hit of the merged list without the parts of its score."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "hit_id"), description="Id of the hit.")
    score: RoundedScore = Field(description="Score of the hit, 0 to 1, rounded to four decimals.")
    hit: dict[str, Any] = Field(
        validation_alias=AliasPath("hit", "payload"),
        description="The hit as sent, from the first list that contains it.",
    )


class CompactRerankResponse(Response):
    """The merged list with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactMergedHit] = Field(description="Hits, best first.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")


class ScoredHitId(Response):
    """The id and the score of a hit of the merged list."""

    chunk_id: str = Field(validation_alias=AliasPath("hit", "hit_id"), description="Id of the hit.")
    score: RoundedScore = Field(description="Score of the hit, 0 to 1, rounded to four decimals.")


class IdsRerankResponse(Response):
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
