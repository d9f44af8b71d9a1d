"""Defines the response models of search, in the shape that `detail` selects."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from app.http.responses import Response, RoundedScore, is_empty, is_none, rounded
from app.kinds import ExtractorUsed, MatchedBy, SearchMode
from app.query import hints
from app.query.types import Answer
from app.search.api.hit_models import RELAXED, ScoredId, SearchHit

HINTS = "Why there are no results or, in a two-pass search, why entities were not used; and what to change."
ANSWERABLE = (
    "Score, 0 to 1, of whether any hit answers the query: at least the largest `relevance` of the hits; 0 without "
    "hits, null if hits have no relevance."
)
NEXT_CURSOR = "`cursor` of the next page; null if no results follow."
DEGRADED = "Codes of what failed and was left out, such as `embedding_failed`."
EXPLAIN = (
    "With `explain`: how the query was read, which legs, fusion and depth were used and why, what the confidence "
    "follows from, and the milliseconds of each stage."
)


class MatchedEntity(Response):
    """An entity recognised in the query."""

    entity_id: UUID = Field(description="Id of the entity.")
    name: str = Field(description="Name of the entity.")
    type: str = Field(description="Type of the entity, such as `person`.")
    score: RoundedScore = Field(description="Match score, 0 to 1.")
    matched_by: MatchedBy = Field(description="Field of the entity that matched the query; `fuzzy` is a similar name.")
    role: str | None = Field(None, description="Role of the entity.")
    teams: list[str] = Field(
        description="Names of the entities that contain it; only if the query matches several entities of its name."
    )


class EntitySearchResponse(Response):
    """The entities that match a query."""

    entities: list[MatchedEntity] = Field(description="Entities, highest score first.")
    degraded: list[str] = Field(description=DEGRADED)
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
        None,
        description="Questions of the language model that the hop searched for too, from hop 2 on.",
        exclude_if=is_empty,
    )
    error: str | None = Field(None, description="Why the hop found nothing.", exclude_if=is_none)


_Hit = TypeVar("_Hit")


class AnswerWith(BaseModel, Generic[_Hit]):
    """An answer, whatever its hits have."""

    results: list[_Hit] = Field(description="Hits, best first.")
    total_results: int = Field(
        description="Number of results of this page; over several hops, of chunks found by all of them."
    )
    answerable: float | None = Field(None, description=ANSWERABLE)
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)
    took_ms: float = Field(description="Duration of the search in milliseconds.")
    hops: list[HopSummary] | None = Field(
        None, description="With several hops: the retrieval rounds.", exclude_if=is_none
    )
    search_mode: SearchMode | None = Field(
        None, description="In a two-pass search: whether entities guided it (`two_pass`).", exclude_if=is_none
    )
    pass1_entities: list[MatchedEntity] | None = Field(
        None,
        description="In a two-pass search: the entities recognised in the query, highest score first.",
        exclude_if=is_none,
    )
    degraded: list[str] = Field([], description=DEGRADED, exclude_if=is_empty)
    relaxed: list[str] = Field([], description=RELAXED, exclude_if=is_empty)
    hints: list[str] = Field([], description=HINTS, exclude_if=is_empty)
    excluded: list[str] = Field([], description="Words and phrases that the query excludes.", exclude_if=is_empty)
    explain: dict[str, Any] | None = Field(None, description=EXPLAIN, exclude_if=is_none)

    @staticmethod
    def fields_of(answer: Answer) -> dict[str, Any]:
        """The values of the fields but for the hits."""
        is_two_pass = answer.guided is not None
        return {
            "total_results": len(answer.hits) if answer.total_results is None else answer.total_results,
            "answerable": rounded(answer.answerable),
            "next_cursor": answer.next_cursor,
            "took_ms": answer.took_ms,
            "hops": None if answer.hops is None else [HopSummary.of(hop) for hop in answer.hops],
            "search_mode": ("two_pass" if answer.guided else "flat") if is_two_pass else None,
            "pass1_entities": list(map(MatchedEntity.of, answer.entities)) if is_two_pass else None,
            "degraded": list(answer.degraded),
            "relaxed": list(answer.relaxed),
            "hints": hints.of(answer),
            "excluded": list(answer.excluded),
            "explain": _explain(answer),
        }


class SearchResponse(AnswerWith[SearchHit]):
    """The response of a search with `detail: full` or `compact`."""

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The response model of an answer."""
        return cls(results=[SearchHit.of(hit, answer) for hit in answer.hits], **cls.fields_of(answer))


class IdsSearchResponse(AnswerWith[ScoredId]):
    """The response of a search with `detail: ids`."""

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The response model of an answer."""
        return cls(results=[ScoredId.of(hit) for hit in answer.hits], **cls.fields_of(answer))


SearchAnswer = TypeAliasType(
    "SearchAnswer",
    Annotated[
        SearchResponse | IdsSearchResponse,
        Field(description="The response of a search, in the shape that `detail` selects."),
    ],
)


def response_of(answer: Answer) -> SearchResponse | IdsSearchResponse:
    """The response model of an answer by its `detail`."""
    return IdsSearchResponse.of(answer) if answer.detail == "ids" else SearchResponse.of(answer)


def _explain(answer: Answer) -> dict[str, Any] | None:
    """How the query was read and answered; None unless that was asked for."""
    if answer.explain is None:
        return None
    return {
        "query_type": answer.query_type,
        "mode": answer.mode,
        "fusion": answer.fusion,
        "depth": answer.depth,
        "depth_reason": answer.depth_reason,
        "search_mode": answer.search_mode,
        "fallback_reason": answer.fallback_reason,
        "confidence": answer.confidence,
        "strategies_matched": list(answer.strategies_matched),
        "approximate": answer.approximate,
        **answer.explain,
        "timings": dict(answer.timings),
    }
