"""What does a search take and answer on the wire?"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api import wire
from app.shapes import (
    Answer,
    Confidence,
    Detail,
    EntityMatch,
    Fusion,
    Guidance,
    Hierarchy,
    Hit,
    MatchedBy,
    Mode,
    QueryType,
    Rerank,
)
from app.shapes import Filters as FilterShape
from app.shapes import Query as QueryShape
from app.shapes import Weights as WeightShape

_RANGE = frozenset({"gte", "gt", "lte", "lt"})


def _metadata_filter(given: dict[str, Any]) -> dict[str, Any]:
    return {key: _range(value) if _is_range(value) else value for key, value in given.items()}


def _is_range(value: object) -> bool:
    return isinstance(value, dict) and bool(value) and value.keys() <= _RANGE


def _range(value: dict[str, Any]) -> dict[str, float | str]:
    return {operator: _bound(bound) for operator, bound in value.items()}


def _bound(bound: object) -> float | str:
    """A number, or a date or moment in the one form that Postgres reads: it knows fewer than ISO 8601 and Python do."""
    if isinstance(bound, int | float) and not isinstance(bound, bool):
        return bound
    if isinstance(bound, str) and (read := wire.iso_8601(bound)) is not None:
        return bound if len(bound) == len("2026-01-31") else read.isoformat()
    raise PydanticCustomError(
        "invalid_range",
        "A range takes numbers, or dates and times such as 2026-01-31 or 2026-01-31T12:00:00Z, as its bounds.",
    )


class SearchFilters(wire.WireModel):
    """Which documents may answer; all that is given must hold."""

    document_ids: wire.IdList | None = Field(None, description="Only these documents.")
    source_ids: wire.IdList | None = Field(None, description="Only documents of these sources.")
    metadata: Annotated[wire.Metadata, AfterValidator(_metadata_filter)] | None = Field(
        None,
        description='What a document\'s metadata must contain. A value such as `{"gte": 2020, "lt": 2024}` is a range '
        "on a number or an ISO date.",
        examples=[{"team": "tide", "year": {"gte": 2024}}],
    )
    created_after: wire.Moment | None = Field(None, description="Created at this moment or later.")
    created_before: wire.Moment | None = Field(None, description="Created before this moment.")

    def shape(self) -> FilterShape:
        """The filters as the corridor takes them."""
        return FilterShape(
            document_ids=None if self.document_ids is None else tuple(self.document_ids),
            source_ids=None if self.source_ids is None else tuple(self.source_ids),
            metadata=self.metadata or None,
            created_after=self.created_after,
            created_before=self.created_before,
        )


def _to_a_millionth(weight: float) -> float:
    return round(weight, 6)


# Postgres refuses a product that is too small for a float, which a weight of 5e-324 makes of any score.
Weight = Annotated[wire.Number, Field(ge=0, le=100), AfterValidator(_to_a_millionth)]


Share = Annotated[wire.Number, Field(ge=0, le=1)]


class LegWeights(wire.WireModel):
    """How much each leg counts, to a millionth. A leg of weight 0 is not run."""

    vector: Weight = Field(1.0, description="Weight of the vector leg.")
    text: Weight = Field(1.0, description="Weight of the text leg.")

    @model_validator(mode="after")
    def _one_leg(self) -> Self:
        if self.vector == self.text == 0:
            raise PydanticCustomError("no_leg", "At least one leg needs a weight above 0.")
        return self


class SearchRequest(wire.WireModel):
    """A question or keywords. `"quotes"` ask for a phrase, `+word` or `AND` require, `-word` or `NOT` exclude."""

    query: wire.QueryText = Field(examples=["How did we fix the sync interval of the buoys?"])
    limit: Annotated[wire.Int, Field(ge=1, le=50)] = Field(5, description="Hits wanted.")
    mode: Mode = Field("auto", description="Which legs run; `auto` lets the query's shape steer their weights.")
    fusion: Fusion = Field("auto", description="How the legs are fused; `auto` chooses by `mode`.")
    weights: LegWeights | None = Field(None, description="Weights of the legs; default: chosen by `mode` and `fusion`.")
    k: Annotated[wire.Int, Field(ge=1, le=1000)] | None = Field(None, description="The constant of RRF; default 60.")
    candidates: Annotated[wire.Int, Field(ge=10, le=1000)] | None = Field(
        None, description="How many chunks each leg hands to the fusion; default 100."
    )
    filters: SearchFilters = Field(default_factory=lambda: SearchFilters(), description="Which documents may answer.")
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks that must not come back.")
    min_vector_score: Annotated[wire.Number, Field(ge=-1, le=1)] | None = Field(
        None, description="Least cosine similarity; a hit without a vector score fails it."
    )
    min_rrf_score: Annotated[wire.Number, Field(ge=0)] | None = Field(None, description="Least RRF score.")
    min_confidence: Confidence | None = Field(None, description="Least confidence.")
    detail: Detail = Field("full", description="How much text a hit carries.")
    explain: wire.Flag = Field(False, description="Show how each score came about.")

    hierarchy: Hierarchy = Field(
        "auto", description="Whether the entities that the query is about guide it; `force`: however unsure they are."
    )
    alpha: Share | None = Field(
        None, description="Share of a passage's own score; the rest is its entity's. 1: entities only choose documents."
    )
    threshold: Share | None = Field(None, description="Score from which an entity guides a search.")
    max_entities: Annotated[wire.Int, Field(ge=1, le=20)] | None = Field(None, description="Entities that may guide.")
    boost: wire.Flag = Field(True, description="Whether passages that mention what the query names are lifted.")

    rerank: Rerank = Field(
        "none",
        description="Score the best 25 to 100 again: by their cosine to the query, or by the service's re-ranker.",
    )
    mmr: wire.Flag = Field(
        False, description="Prefer passages that say something new; the order is that of their selection."
    )

    def shape(self, user_id: str, *, candidates: int, k: int, guidance: Guidance) -> QueryShape:
        """The search as the corridor takes it; `candidates`, `k` and `guidance` are the service's defaults."""
        return QueryShape(
            user_id=user_id,
            text=self.query,
            limit=self.limit,
            mode=self.mode,
            fusion=self.fusion,
            weights=WeightShape(self.weights.vector, self.weights.text) if self.weights else None,
            k=self.k or k,
            candidates=max(self.candidates or candidates, self.limit),
            filters=self.filters.shape(),
            exclude_chunk_ids=tuple(self.exclude_chunk_ids),
            min_vector_score=self.min_vector_score,
            min_rrf_score=self.min_rrf_score,
            min_confidence=self.min_confidence,
            detail=self.detail,
            explain=self.explain,
            rerank=self.rerank,
            mmr=self.mmr,
            guidance=Guidance(
                hierarchy=self.hierarchy,
                alpha=guidance.alpha if self.alpha is None else self.alpha,
                threshold=guidance.threshold if self.threshold is None else self.threshold,
                max_entities=self.max_entities or guidance.max_entities,
                boost=self.boost,
                boost_by_type=guidance.boost_by_type,
            ),
        )


class SimilarRequest(wire.WireModel):
    """A stored chunk or a vector; exactly one of them."""

    chunk_id: UUID | None = Field(None, description="The chunk whose neighbours are wanted; itself never comes back.")
    vector: wire.Vector | None = Field(None, description="A vector of the stored dimension.")
    limit: Annotated[wire.Int, Field(ge=1, le=50)] = Field(5, description="Hits wanted.")
    filters: SearchFilters = Field(default_factory=lambda: SearchFilters(), description="Which documents may answer.")
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks that must not come back.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.vector is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or vector, and only one of them.")
        return self


class MatchedEntity(BaseModel):
    """An entity that the query is about."""

    entity_id: UUID
    name: str
    type: str
    score: float = Field(description="How sure it is, 0 to 1.")
    matched_by: MatchedBy

    @classmethod
    def of(cls, match: EntityMatch) -> MatchedEntity:
        """A match as the wire shows it."""
        return cls(**{name: getattr(match, name) for name in cls.model_fields})


class ParentEntity(BaseModel):
    """The entity that a hit's document is about: `score = alpha · doc_score + (1 − alpha) · parent_entity_score`."""

    entity_id: UUID | None
    parent_entity_score: float = Field(description="0 where no entity of the query led to the document.")
    link_strength: float
    doc_score: float


class MentionBoost(BaseModel):
    """What mentioning the query's entities adds to a hit."""

    factor: float
    mentions: int
    score_before: float
    places: int = Field(description="How many places up it moved.")


class SearchHit(BaseModel):
    """One passage. A score or rank of a leg that did not find it is null."""

    chunk_id: UUID
    document_id: UUID
    source_id: UUID | None
    title: str
    uri: str | None
    content: str
    chunk_index: int = Field(description="Place of the chunk in its document, from 0.")
    start_offset: int = Field(description="First code point of the passage in the document's text.")
    end_offset: int = Field(description="The code point after its last.")
    heading_path: list[str]
    metadata: dict[str, Any]
    score: float = Field(description="What the list is sorted by, 0 to 1, unless `mmr` was asked for.")
    rrf_score: float | None
    convex_score: float | None
    vector_score: float | None = Field(description="Cosine similarity to the query.")
    text_score: float | None = Field(description="BM25.")
    vector_rank: int | None
    text_rank: int | None
    confidence: Confidence
    strategies: list[str] = Field(description="What found it.")
    parent: ParentEntity | None = Field(None, description="In a search that entities guided.")
    boost: MentionBoost | None = Field(None, description="Where it mentions what the query names.")
    explain: dict[str, Any] | None = None

    @classmethod
    def of(cls, hit: Hit) -> SearchHit:
        """A hit as the wire shows it."""
        c = hit.candidate
        fields = {name: getattr(c, name) for name in c.__dataclass_fields__}
        fields |= {"heading_path": list(c.heading_path), "metadata": dict(c.metadata)}
        return cls(
            **fields,
            confidence=hit.confidence,
            strategies=list(hit.strategies),
            parent=_parent(hit),
            boost=_lift(hit),
            explain=_plain(hit.explain),
        )


def _parent(hit: Hit) -> ParentEntity | None:
    if (parent := hit.parent) is None:
        return None
    return ParentEntity(
        entity_id=parent.entity_id,
        parent_entity_score=parent.score,
        link_strength=parent.strength,
        doc_score=parent.doc_score,
    )


def _lift(hit: Hit) -> MentionBoost | None:
    if (boost := hit.boost) is None:
        return None
    return MentionBoost(
        factor=boost.factor, mentions=boost.mentions, score_before=boost.score_before, places=boost.moved
    )


class SearchResponse(BaseModel):
    """What every search answers."""

    results: list[SearchHit]
    confidence: Confidence | None = Field(description="The first hit's.")
    strategies_matched: list[str]
    query_type: QueryType | None
    mode: Mode
    fusion: Literal["rrf", "convex"] | None
    search_mode: Literal["flat", "two_pass", "multihop"]
    fallback_reason: str | None = Field(description="Why the answer is empty, or why entities did not guide it.")
    pass1_entities: list[MatchedEntity] = Field(description="The entities that the query is about, the surest first.")
    approximate: bool = Field(description="Whether chunks that pass may be missing from a short answer.")
    degraded: list[str] = Field(description="What could not be used, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="What was dropped from the query because it found nothing.")
    took_ms: float
    timings: dict[str, float] = Field(description="Milliseconds by stage.")
    explain: dict[str, Any] | None = None

    @classmethod
    def of(cls, answer: Answer) -> SearchResponse:
        """An answer as the wire shows it."""
        return cls(
            results=[SearchHit.of(hit) for hit in answer.hits],
            confidence=answer.confidence,
            strategies_matched=list(answer.strategies_matched),
            query_type=answer.query_type,
            mode=answer.mode,
            fusion=answer.fusion,
            search_mode=answer.search_mode,
            fallback_reason=answer.fallback_reason,
            pass1_entities=[MatchedEntity.of(match) for match in answer.pass1_entities],
            approximate=answer.approximate,
            degraded=list(answer.degraded),
            relaxed=list(answer.relaxed),
            took_ms=answer.timings.get("total", 0.0),
            timings=dict(answer.timings),
            explain=_plain(answer.explain),
        )


def _plain(explain: Any) -> dict[str, Any] | None:
    return None if explain is None else dict(explain)
