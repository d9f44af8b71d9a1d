"""Defines the response models of search: full, compact, or ids and scores only, as `detail` selects."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field
from typing_extensions import TypeAliasType

from app.api.contract.enums import (
    Confidence,
    ConfidenceBasis,
    DepthReason,
    DepthUsed,
    ExtractorUsed,
    FullDetail,
    FusionUsed,
    MatchedBy,
    Mode,
    QueryType,
    SearchMode,
)
from app.api.contract.responses import Response, RoundedScore, is_empty, is_none
from app.api.search.hit_models import RELAXED, CompactHit, ScoredId, SearchHit
from app.shapes import Answer
from app.tools import missed_filters

Hints = Annotated[list[str], BeforeValidator(missed_filters.sentences)]
HINTS = "If the filters exclude every document: near or common keys or values for each condition that none meets."
DEPTH = "One search, or several hops; absent from endpoints that offer no choice."
ANSWERABLE = "Probability, 0 to 1, that any hit answers the query; 0 without hits, null if hits have no relevance."
NEXT_CURSOR = "`cursor` of the next page; null if no results follow."


class MatchedEntity(Response):
    """An entity recognised in the query."""

    entity_id: UUID = Field(description="Id of the entity.")
    name: str = Field(description="Name of the entity.")
    type: str = Field(description="Type of the entity, such as `person`.")
    score: float = Field(description="Match score, 0 to 1.")
    matched_by: MatchedBy = Field(description="Field of the entity that matched the query; `fuzzy` is a similar name.")
    role: str | None = Field(None, description="Role of the entity.")
    teams: list[str] = Field(
        description="Names of the entities that contain it; only if the query matches several entities of its name."
    )


class EntitySearchResponse(Response):
    """The entities that match a query."""

    entities: list[MatchedEntity] = Field(description="Entities, highest score first.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    took_ms: float = Field(description="Duration of the search in milliseconds.")


class HopSummary(Response):
    """A retrieval round."""

    hop: int = Field(description="Number of the hop, from 1.")
    query: str = Field(description="Query of the hop.")
    result_count: int = Field(description="Number of chunks that no earlier hop had found.")
    expanded_terms: list[str] | None = Field(
        None, validation_alias="terms", description="Terms extracted from the top chunks, from hop 2 on."
    )
    extractor: ExtractorUsed | None = Field(
        None, validation_alias="term_method", description="Method that extracted the terms."
    )
    questions: list[str] | None = Field(
        None, description="Questions of the language model that the hop searched for too, from hop 2 on."
    )
    error: str | None = Field(None, description="Why the hop found nothing.")


class SearchResponse(Response):
    """The response of a search with `detail: full` or `preview`."""

    detail: FullDetail = Field(description="Fields of the hits, as requested.")
    results: list[SearchHit] = Field(validation_alias="hits", description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    confidence_by: ConfidenceBasis = Field(description="What the confidence of the hits follows from.")
    answerable: float | None = Field(None, description=ANSWERABLE)
    strategies_matched: list[str] = Field(description="Strategies that found at least one hit.")
    query_type: QueryType | None = Field(None, description="Detected type of the query; null without a query.")
    mode: Mode = Field(description="Legs that were requested.")
    fusion: FusionUsed | None = Field(None, description="Fusion that was used; null if only one leg ran.")
    search_mode: SearchMode = Field(description="Kind of search that was run.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    hints: Hints = Field([], validation_alias="missed", description=HINTS, exclude_if=is_empty)
    pass1_entities: list[MatchedEntity] = Field(
        validation_alias="entities", description="Entities recognised in the query, highest score first."
    )
    approximate: bool = Field(
        description="Whether there are fewer results than `limit` because the vector index, which is searched "
        "approximately, returned too few. With `vector_plan: hnsw` in `explain`, near neighbours may be missing in any "
        "answer."
    )
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description=RELAXED)
    depth: DepthUsed | None = Field(None, description=DEPTH, exclude_if=is_none)
    depth_reason: DepthReason | None = Field(None, description="Why this depth was used.", exclude_if=is_none)
    hops: list[HopSummary] | None = Field(
        None, description="With several hops: the retrieval rounds.", exclude_if=is_none
    )
    total_results: int | None = Field(
        None, description="With several hops: number of chunks found by all of them.", exclude_if=is_none
    )
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)
    took_ms: float = Field(description="Duration of the search in milliseconds.")
    timings: dict[str, float] = Field(description="Milliseconds per stage.")
    explain: dict[str, Any] | None = Field(None, description="How the query was analysed, if `explain` is set.")


class CompactSearchResponse(Response):
    """The response of a search with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactHit] = Field(validation_alias="hits", description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    answerable: RoundedScore | None = Field(None, description=ANSWERABLE)
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    hints: Hints = Field([], validation_alias="missed", description=HINTS, exclude_if=is_empty)
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description=RELAXED)
    depth: DepthUsed | None = Field(None, description=DEPTH, exclude_if=is_none)
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)


class IdsSearchResponse(Response):
    """The response of a search with `detail: ids`."""

    detail: Literal["ids"] = Field(description="Fields of the hits, as requested.")
    results: list[ScoredId] = Field(validation_alias="hits", description="Hits, best first.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    hints: Hints = Field([], validation_alias="missed", description=HINTS, exclude_if=is_empty)
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description=RELAXED)
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)


SearchAnswer = TypeAliasType(
    "SearchAnswer",
    Annotated[
        SearchResponse | CompactSearchResponse | IdsSearchResponse,
        Field(
            discriminator="detail",
            description="The response of a search, in the shape that `detail` selects.",
        ),
    ],
)


def response_of(
    answer: Answer, full: type[SearchResponse] = SearchResponse
) -> SearchResponse | CompactSearchResponse | IdsSearchResponse:
    """The response model of an answer by its `detail`: `full`, unless it is compact or ids."""
    if answer.detail == "compact":
        return CompactSearchResponse.of(answer)
    return IdsSearchResponse.of(answer) if answer.detail == "ids" else full.of(answer)
