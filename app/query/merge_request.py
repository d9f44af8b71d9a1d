"""Defines the request that merges lists of hits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app import limits
from app.enums import ListMerge, MergeDetail, Rerank
from app.query import moved_fields
from app.query.search_request import MMR_LAMBDA, RERANK_WEIGHT, Share
from app.requests import field_types

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

    @property
    def as_sent(self) -> dict[str, Any]:
        """All of its fields, as the caller sent them."""
        return self.model_dump()


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
