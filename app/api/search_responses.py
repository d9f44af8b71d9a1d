"""Defines the response models of search: full, compact, or ids and scores only, as `detail` selects."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from app.api.enums import (
    Confidence,
    FullDetail,
    FusionUsed,
    LinkKind,
    MatchedBy,
    MatchKind,
    Mode,
    QueryType,
    SearchMode,
)
from app.shapes import Answer, EntityMatch, Hit, Snippet, Via

SCORE_DIGITS = 4
"""Decimals of a score in compact answers and in answers of ids."""
MORE = "With `group_by`: further hits of the same document, best first; absent if there are none."
SNIPPET = "The sentences that match best, if `snippets` is set; absent otherwise."
NEXT_CURSOR = "`cursor` of the next page; null if no results follow."


def is_none(value: object) -> bool:
    """Whether the value is None; such a field can be left out of every response."""
    return value is None


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
    """The entity linked to a hit's document.

    `score = (1 − w) · doc_score + w · parent_entity_score`, with `w = (1 − alpha) · aboutness`.
    """

    entity_id: UUID | None = Field(None, description="Id of the entity; null if the document is linked to none.")
    parent_entity_score: float = Field(description="Score of the best entity, lower for a weak link; 0 without one.")
    link_strength: float = Field(description="Strength of the link between document and entity.")
    doc_score: float = Field(description="Score of the passage itself with its boost; above 1 if the boost exceeds it.")


class MentionBoost(BaseModel):
    """The boost of a hit that mentions entities of the query."""

    factor: float = Field(description="Factor by which the score was multiplied.")
    mentions: int = Field(description="Number of the query's entities that the passage mentions.")
    score_before: float = Field(description="Score before the boost.")
    places: int = Field(description="Number of ranks by which the hit moved up.")


class SnippetMatch(BaseModel):
    """What the query matches in a passage."""

    start: int = Field(description="Offset of the match's first code point in the passage's whole text.")
    end: int = Field(description="Offset of the code point after its last.")
    kind: MatchKind = Field(description="What of the query matches.")


class HitSnippet(BaseModel):
    """The one to three sentences of a passage that match the query best; the first ones if none matches.

    Offsets count code points, as Python's strings do, in the passage's whole text, also if `detail` shortens it. In
    `text` a match begins at its `start` minus that of the snippet.
    """

    text: str = Field(description="The sentences as they are written, without marks.")
    start: int = Field(description="Offset of the snippet's first code point in the passage's whole text.")
    end: int = Field(description="Offset of the code point after its last.")
    matches: list[SnippetMatch] = Field(description="Matches in the snippet, in order and without overlaps.")

    @classmethod
    def of(cls, snippet: Snippet) -> HitSnippet:
        """The response model of a snippet."""
        matches = [SnippetMatch(start=one.start, end=one.end, kind=one.kind) for one in snippet.matches]
        return cls(text=snippet.text, start=snippet.start, end=snippet.end, matches=matches)


class SearchHit(BaseModel):
    """A passage. The score and the rank of a leg that did not find it are null."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    source_id: UUID | None = Field(None, description="Id of the source of the document.")
    title: str = Field(description="Title of the document.")
    uri: str | None = Field(None, description="URI of the document.")
    content: str = Field(description="Text of the passage, as far as `detail` includes it.")
    chunk_index: int = Field(description="Index of the chunk in its document, from 0.")
    start_offset: int = Field(description="Offset of the passage's first code point in the document's text.")
    end_offset: int = Field(description="Offset of the code point after its last.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    score: float = Field(description="Final score, 0 to 1; results are sorted by it unless `mmr` is set.")
    rrf_score: float | None = Field(None, description="Score of reciprocal rank fusion; null if it was not used.")
    convex_score: float | None = Field(None, description="Score of convex combination; null if it was not used.")
    vector_score: float | None = Field(None, description="Cosine similarity to the query.")
    text_score: float | None = Field(None, description="BM25 score.")
    vector_rank: int | None = Field(None, description="Rank in the vector leg, from 1.")
    text_rank: int | None = Field(None, description="Rank in the text leg, from 1.")
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    strategies: list[str] = Field(description="Strategies that found the passage, such as `vector` and `text`.")
    parent: ParentEntity | None = Field(None, description="Linked entity; null unless entities guided the search.")
    boost: MentionBoost | None = Field(None, description="Boost for mentions of the query's entities, if any.")
    explain: dict[str, Any] | None = Field(None, description="Components of the score, if `explain` is set.")
    snippet: HitSnippet | None = Field(None, description=SNIPPET, exclude_if=is_none)
    more: list[SearchHit] | None = Field(None, description=MORE, exclude_if=is_none)

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
            snippet=HitSnippet.of(hit.snippet) if hit.snippet else None,
            more=[cls.of(other) for other in hit.more] if hit.more else None,
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
    """The response of a search with `detail: full` or `preview`."""

    detail: FullDetail = Field(description="Fields of the hits, as requested.")
    results: list[SearchHit] = Field(description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    strategies_matched: list[str] = Field(description="Strategies that found at least one hit.")
    query_type: QueryType | None = Field(None, description="Detected type of the query; null without a query.")
    mode: Mode = Field(description="Legs that were requested.")
    fusion: FusionUsed | None = Field(None, description="Fusion that was used; null if only one leg ran.")
    search_mode: SearchMode = Field(description="Kind of search that was run.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    pass1_entities: list[MatchedEntity] = Field(description="Entities recognised in the query, highest score first.")
    approximate: bool = Field(
        description="Whether matching chunks may be missing because the index was searched approximately."
    )
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
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
            next_cursor=answer.next_cursor,
            took_ms=answer.timings.get("total", 0.0),
            timings=dict(answer.timings),
            explain=_plain(answer.explain),
        )


def _plain(explain: Any) -> dict[str, Any] | None:
    return None if explain is None else dict(explain)


class CompactLink(BaseModel):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, or the expanded terms.")
    kind: LinkKind = Field(description="Kind of the link.")

    @classmethod
    def of(cls, via: Via) -> CompactLink:
        """The response model of a link."""
        return cls(name=via.name, kind=via.kind)


class CompactHit(BaseModel):
    """A passage with what a language model needs to use and cite it."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    title: str = Field(description="Title of the document.")
    uri: str | None = Field(None, description="URI of the document.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    content: str = Field(description="Text of the passage.")
    score: float = Field(description="Final score, 0 to 1, rounded to four decimals.")
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    via: CompactLink | None = Field(None, description="How a later hop reached it; null for hop 1 and without hops.")
    snippet: HitSnippet | None = Field(None, description=SNIPPET, exclude_if=is_none)
    more: list[CompactHit] | None = Field(None, description=MORE, exclude_if=is_none)

    @classmethod
    def of(cls, hit: Hit) -> CompactHit:
        """The response model of a hit."""
        candidate = hit.candidate
        return cls(
            chunk_id=candidate.chunk_id,
            title=candidate.title,
            uri=candidate.uri,
            heading_path=list(candidate.heading_path),
            content=candidate.content,
            score=round(candidate.score, SCORE_DIGITS),
            confidence=hit.confidence,
            via=CompactLink.of(hit.via) if hit.via else None,
            snippet=HitSnippet.of(hit.snippet) if hit.snippet else None,
            more=[cls.of(other) for other in hit.more] if hit.more else None,
        )


class CompactSearchResponse(BaseModel):
    """The response of a search with `detail: compact`."""

    detail: Literal["compact"] = Field(description="Fields of the hits, as requested.")
    results: list[CompactHit] = Field(description="Hits, best first.")
    confidence: Confidence | None = Field(None, description="Confidence of the first hit; null without hits.")
    fallback_reason: str | None = Field(None, description="Why there are no results, or why entities were not used.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `embedding_failed`.")
    relaxed: list[str] = Field(description="Parts of the query that were dropped because nothing matched them.")
    next_cursor: str | None = Field(None, description=NEXT_CURSOR)

    @classmethod
    def of(cls, answer: Answer) -> CompactSearchResponse:
        """The response model of an answer."""
        return cls(
            detail="compact",
            results=[CompactHit.of(hit) for hit in answer.hits],
            confidence=answer.confidence,
            fallback_reason=answer.fallback_reason,
            degraded=list(answer.degraded),
            relaxed=list(answer.relaxed),
            next_cursor=answer.next_cursor,
        )


class ScoredId(BaseModel):
    """The ids and the score of a hit."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    score: float = Field(description="Final score, 0 to 1, rounded to four decimals.")
    more: list[ScoredId] | None = Field(None, description=MORE, exclude_if=is_none)

    @classmethod
    def of(cls, hit: Hit) -> ScoredId:
        """The response model of a hit."""
        candidate = hit.candidate
        score = round(candidate.score, SCORE_DIGITS)
        more = [cls.of(other) for other in hit.more] if hit.more else None
        return cls(chunk_id=candidate.chunk_id, document_id=candidate.document_id, score=score, more=more)


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
