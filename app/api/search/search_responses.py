"""Defines the response models of search: full, compact, or ids and scores only, as `detail` selects."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
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
from app.api.search.hit_models import SCORE_DIGITS, CompactHit, ScoredId, SearchHit, is_none
from app.shapes import Answer, EntityMatch, Hop

DEPTH = "One search, or several hops; absent from endpoints that offer no choice."
ANSWERABLE = "Probability, 0 to 1, that any hit answers the query; 0 without hits, null if hits have no relevance."
NEXT_CURSOR = "`cursor` of the next page; null if no results follow."


class MatchedEntity(BaseModel):
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

    @classmethod
    def of(cls, match: EntityMatch) -> MatchedEntity:
        """The response model of a match."""
        return cls(**{**{name: getattr(match, name) for name in cls.model_fields}, "teams": list(match.teams)})


class HopSummary(BaseModel):
    """A retrieval round."""

    hop: int = Field(description="Number of the hop, from 1.")
    query: str = Field(description="Query of the hop.")
    result_count: int = Field(description="Number of chunks that no earlier hop had found.")
    expanded_terms: list[str] | None = Field(None, description="Terms extracted from the top chunks, from hop 2 on.")
    extractor: ExtractorUsed | None = Field(None, description="Method that extracted the terms.")
    questions: list[str] | None = Field(
        None, description="Questions of the language model that the hop searched for too, from hop 2 on."
    )
    error: str | None = Field(None, description="Why the hop found nothing.")

    @classmethod
    def of(cls, hop: Hop) -> HopSummary:
        """The response model of a hop."""
        terms = list(hop.terms) if hop.hop > 1 else None
        return cls(
            hop=hop.hop,
            query=hop.query,
            result_count=hop.result_count,
            expanded_terms=terms,
            extractor=hop.term_method,
            questions=list(hop.questions) if hop.hop > 1 else None,
            error=hop.error,
        )


class SearchResponse(BaseModel):
    """The response of a search with `detail: full` or `preview`."""

    detail: FullDetail = Field(description="Fields of the hits, as requested.")
    results: list[SearchHit] = Field(description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    confidence_by: ConfidenceBasis = Field(description="What the confidence of the hits follows from.")
    answerable: float | None = Field(None, description=ANSWERABLE)
    strategies_matched: list[str] = Field(description="Strategies that found at least one hit.")
    query_type: QueryType | None = Field(None, description="Detected type of the query; null without a query.")
    mode: Mode = Field(description="Legs that were requested.")
    fusion: FusionUsed | None = Field(None, description="Fusion that was used; null if only one leg ran.")
    search_mode: SearchMode = Field(description="Kind of search that was run.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    pass1_entities: list[MatchedEntity] = Field(description="Entities recognised in the query, highest score first.")
    approximate: bool = Field(
        description="Whether there are fewer results than `limit` because the vector index, which is searched "
        "approximately, returned too few. With `vector_plan: hnsw` in `explain`, near neighbours may be missing in any "
        "answer."
    )
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
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

    @classmethod
    def of(cls, answer: Answer) -> SearchResponse:
        """The response model of an answer."""
        return cls(
            detail="preview" if answer.detail == "preview" else "full",
            results=[SearchHit.of(hit) for hit in answer.hits],
            confidence=answer.confidence,
            confidence_by=answer.confidence_by,
            answerable=answer.answerable,
            strategies_matched=list(answer.strategies_matched),
            query_type=answer.query_type,
            mode=answer.mode,
            fusion=answer.fusion,
            search_mode=answer.search_mode,
            fallback_reason=answer.fallback_reason,
            pass1_entities=[MatchedEntity.of(match) for match in answer.entities],
            approximate=answer.approximate,
            degraded=list(answer.degraded),
            relaxed=list(answer.relaxed),
            depth=answer.depth,
            depth_reason=answer.depth_reason,
            hops=None if answer.hops is None else [HopSummary.of(hop) for hop in answer.hops],
            total_results=answer.total_results,
            next_cursor=answer.next_cursor,
            took_ms=answer.timings.get("total", 0.0),
            timings=dict(answer.timings),
            explain=_plain(answer.explain),
        )


def _plain(explain: Any) -> dict[str, Any] | None:
    return None if explain is None else dict(explain)


class CompactSearchResponse(BaseModel):
    """The response of a search with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactHit] = Field(description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    answerable: float | None = Field(None, description=ANSWERABLE)
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
    depth: DepthUsed | None = Field(None, description=DEPTH, exclude_if=is_none)
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)

    @classmethod
    def of(cls, answer: Answer) -> CompactSearchResponse:
        """The response model of an answer."""
        return cls(
            detail="compact",
            results=[CompactHit.of(hit) for hit in answer.hits],
            confidence=answer.confidence,
            answerable=None if answer.answerable is None else round(answer.answerable, SCORE_DIGITS),
            fallback_reason=answer.fallback_reason,
            degraded=list(answer.degraded),
            relaxed=list(answer.relaxed),
            depth=answer.depth,
            next_cursor=answer.next_cursor,
        )


class IdsSearchResponse(BaseModel):
    """The response of a search with `detail: ids`."""

    detail: Literal["ids"] = Field(description="Fields of the hits, as requested.")
    results: list[ScoredId] = Field(description="Hits, best first.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)

    @classmethod
    def of(cls, answer: Answer) -> IdsSearchResponse:
        """The response model of an answer."""
        return cls(
            detail="ids",
            results=[ScoredId.of(hit) for hit in answer.hits],
            fallback_reason=answer.fallback_reason,
            degraded=list(answer.degraded),
            relaxed=list(answer.relaxed),
            next_cursor=answer.next_cursor,
        )


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
