"""Defines the request and response models of search."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api import wire
from app.api.enums import Confidence, Detail, Fusion, Hierarchy, MatchedBy, Mode, QueryType, Rerank
from app.shapes import Answer, EntityMatch, Guidance, Hit
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
    """A number, or a date or timestamp in a form that Postgres parses: it accepts fewer than ISO 8601 allows."""
    if isinstance(bound, int | float) and not isinstance(bound, bool):
        return bound
    if isinstance(bound, str) and (read := wire.iso_8601(bound)) is not None:
        return bound if len(bound) == len("2026-01-31") else read.isoformat()
    raise PydanticCustomError(
        "invalid_range",
        "The bounds of a range must be numbers, or dates and times such as 2026-01-31 or 2026-01-31T12:00:00Z.",
    )


class SearchFilters(wire.WireModel):
    """Restricts a search to some documents; a document must meet all given conditions."""

    document_ids: wire.IdList | None = Field(None, description="Only these documents.")
    source_ids: wire.IdList | None = Field(None, description="Only documents from these sources.")
    metadata: Annotated[wire.Metadata, AfterValidator(_metadata_filter)] | None = Field(
        None,
        description='JSON that the document\'s metadata must contain. A value such as `{"gte": 2020, "lt": 2024}` is a '
        "range of numbers or ISO dates.",
        examples=[{"team": "tide", "year": {"gte": 2024}}],
    )
    created_after: wire.Moment | None = Field(None, description="Only documents created at this time or later.")
    created_before: wire.Moment | None = Field(None, description="Only documents created before this time.")

    def shape(self) -> FilterShape:
        """The filters as a core type."""
        return FilterShape(
            document_ids=None if self.document_ids is None else tuple(self.document_ids),
            source_ids=None if self.source_ids is None else tuple(self.source_ids),
            metadata=self.metadata or None,
            created_after=self.created_after,
            created_before=self.created_before,
        )


def _to_a_millionth(weight: float) -> float:
    return round(weight, 6)


# Rounded, because Postgres raises an error on a product too small for a float, such as a score times 5e-324.
Weight = Annotated[wire.Number, Field(ge=0, le=100), AfterValidator(_to_a_millionth)]


Share = Annotated[wire.Number, Field(ge=0, le=1)]


class LegWeights(wire.WireModel):
    """Weights of the two legs of a hybrid search, rounded to a millionth. A leg of weight 0 is not run."""

    vector: Weight = Field(1.0, description="Weight of the vector leg, 0 to 100.")
    text: Weight = Field(1.0, description="Weight of the text leg (BM25), 0 to 100.")

    @model_validator(mode="after")
    def _one_leg(self) -> Self:
        if self.vector == self.text == 0:
            raise PydanticCustomError("no_leg", "At least one leg needs a weight above 0.")
        return self


class SearchRequest(wire.WireModel):
    """A search by a question or keywords.

    `"quotes"` match a phrase, `+word` or `AND` requires a word, `-word` or `NOT` excludes one.
    """

    query: wire.QueryText = Field(examples=["How did we fix the sync interval of the buoys?"])
    limit: Annotated[wire.Int, Field(ge=1, le=50)] = Field(5, description="Maximum number of hits.")
    mode: Mode = Field(
        "auto", description="Legs to run; with `auto` both run and the type of the query sets their weights."
    )
    fusion: Fusion = Field("auto", description="How the legs' results are fused; `auto` chooses by `mode`.")
    weights: LegWeights | None = Field(
        None, description="Weights of the legs; by default chosen by `mode` and `fusion`."
    )
    k: Annotated[wire.Int, Field(ge=1, le=1000)] | None = Field(
        None, description="Rank constant of reciprocal rank fusion; default 60."
    )
    candidates: Annotated[wire.Int, Field(ge=10, le=1000)] | None = Field(
        None, description="Number of chunks that each leg retrieves for fusion; default 100."
    )
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")
    min_vector_score: Annotated[wire.Number, Field(ge=-1, le=1)] | None = Field(
        None, description="Minimum cosine similarity; hits without a vector score are dropped."
    )
    min_rrf_score: Annotated[wire.Number, Field(ge=0)] | None = Field(None, description="Minimum RRF score.")
    min_confidence: Confidence | None = Field(None, description="Minimum confidence.")
    detail: Detail = Field(
        "full", description="How much of each passage is returned: its ids only, a preview, or the full text."
    )
    explain: wire.Flag = Field(False, description="Include the components of each score.")

    hierarchy: Hierarchy = Field(
        "auto",
        description="Use of recognised entities to select and score documents; `force` ignores `threshold`.",
    )
    alpha: Share | None = Field(
        None,
        description="Weight of the passage's own score; its entity's score has the rest. With 1, entities only select.",
    )
    threshold: Share | None = Field(None, description="Minimum match score, 0 to 1, of an entity that is used.")
    max_entities: Annotated[wire.Int, Field(ge=1, le=20)] | None = Field(
        None, description="Maximum number of entities used."
    )
    boost: wire.Flag = Field(True, description="Raise the score of passages that mention an entity of the query.")

    rerank: Rerank = Field(
        "none",
        description="Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured reranker.",
    )
    mmr: wire.Flag = Field(
        False, description="Diversify the results by maximal marginal relevance; results are in the order of selection."
    )

    def shape(self, user_id: str, *, candidates: int, k: int, guidance: Guidance) -> QueryShape:
        """The query as a core type; `candidates`, `k` and `guidance` are the service's defaults."""
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
    """A search for the neighbours of a stored chunk or of a vector; give exactly one of them."""

    chunk_id: UUID | None = Field(
        None, description="The chunk whose neighbours are returned, without the chunk itself."
    )
    vector: wire.Vector | None = Field(None, description="A vector with as many numbers as the stored vectors.")
    limit: Annotated[wire.Int, Field(ge=1, le=50)] = Field(5, description="Maximum number of hits.")
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.vector is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or vector, and only one of them.")
        return self


class MatchedEntity(BaseModel):
    """An entity recognised in the query."""

    entity_id: UUID = Field(description="Id of the entity.")
    name: str = Field(description="Name of the entity.")
    type: str = Field(description="Type of the entity, such as `person`.")
    score: float = Field(description="Match score, 0 to 1.")
    matched_by: MatchedBy = Field(description="Field of the entity that matched the query; `fuzzy` is a similar name.")

    @classmethod
    def of(cls, match: EntityMatch) -> MatchedEntity:
        """The response model of a match."""
        return cls(**{name: getattr(match, name) for name in cls.model_fields})


class ParentEntity(BaseModel):
    """The entity linked to a hit's document: `score = alpha · doc_score + (1 − alpha) · parent_entity_score`."""

    entity_id: UUID | None = Field(description="Id of the entity; null if the document is linked to none.")
    parent_entity_score: float = Field(description="Match score of the entity; 0 if the document is linked to none.")
    link_strength: float = Field(description="Strength of the link between document and entity.")
    doc_score: float = Field(description="Score of the passage itself, 0 to 1.")


class MentionBoost(BaseModel):
    """The boost of a hit that mentions entities of the query."""

    factor: float = Field(description="Factor by which the score was multiplied.")
    mentions: int = Field(description="Number of the query's entities that the passage mentions.")
    score_before: float = Field(description="Score before the boost.")
    places: int = Field(description="Number of ranks by which the hit moved up.")


class SearchHit(BaseModel):
    """A passage. The score and the rank of a leg that did not find it are null."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    source_id: UUID | None = Field(description="Id of the source of the document.")
    title: str = Field(description="Title of the document.")
    uri: str | None = Field(description="URI of the document.")
    content: str = Field(description="Text of the passage, as far as `detail` includes it.")
    chunk_index: int = Field(description="Index of the chunk in its document, from 0.")
    start_offset: int = Field(description="Offset of the passage's first code point in the document's text.")
    end_offset: int = Field(description="Offset of the code point after its last.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    score: float = Field(description="Final score, 0 to 1; results are sorted by it unless `mmr` is set.")
    rrf_score: float | None = Field(description="Score of reciprocal rank fusion; null if it was not used.")
    convex_score: float | None = Field(description="Score of convex combination; null if it was not used.")
    vector_score: float | None = Field(description="Cosine similarity to the query.")
    text_score: float | None = Field(description="BM25 score.")
    vector_rank: int | None = Field(description="Rank in the vector leg, from 1.")
    text_rank: int | None = Field(description="Rank in the text leg, from 1.")
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    strategies: list[str] = Field(description="Strategies that found the passage, such as `vector` and `text`.")
    parent: ParentEntity | None = Field(None, description="Linked entity; null unless entities guided the search.")
    boost: MentionBoost | None = Field(None, description="Boost for mentions of the query's entities, if any.")
    explain: dict[str, Any] | None = Field(None, description="Components of the score, if `explain` is set.")

    @classmethod
    def of(cls, hit: Hit) -> SearchHit:
        """The response model of a hit."""
        candidate = hit.candidate
        fields = {name: getattr(candidate, name) for name in candidate.__dataclass_fields__}
        fields |= {"heading_path": list(candidate.heading_path), "metadata": dict(candidate.metadata)}
        return cls(
            **fields,
            confidence=hit.confidence,
            strategies=list(hit.strategies),
            parent=_parent(hit),
            boost=_boost(hit),
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


def _boost(hit: Hit) -> MentionBoost | None:
    if (boost := hit.boost) is None:
        return None
    return MentionBoost(
        factor=boost.factor, mentions=boost.mentions, score_before=boost.score_before, places=boost.moved
    )


class SearchResponse(BaseModel):
    """The response of every search."""

    results: list[SearchHit] = Field(description="Hits, best first.")
    confidence: Confidence | None = Field(description="Confidence of the first hit; null without hits.")
    strategies_matched: list[str] = Field(description="Strategies that found at least one hit.")
    query_type: QueryType | None = Field(description="Detected type of the query; null without a query.")
    mode: Mode = Field(description="Legs that were requested.")
    fusion: Literal["rrf", "convex"] | None = Field(description="Fusion that was used; null if only one leg ran.")
    search_mode: Literal["flat", "two_pass", "multihop"] = Field(description="Kind of search that was run.")
    fallback_reason: str | None = Field(description="Why there are no results, or why entities were not used.")
    pass1_entities: list[MatchedEntity] = Field(description="Entities recognised in the query, highest score first.")
    approximate: bool = Field(
        description="Whether matching chunks may be missing because the index was searched approximately."
    )
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
    took_ms: float = Field(description="Duration of the search in milliseconds.")
    timings: dict[str, float] = Field(description="Milliseconds per stage.")
    explain: dict[str, Any] | None = Field(None, description="How the query was analysed, if `explain` is set.")

    @classmethod
    def of(cls, answer: Answer) -> SearchResponse:
        """The response model of an answer."""
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
