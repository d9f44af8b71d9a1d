"""Defines the response models of a hit: with every field, compact, or with ids and score only."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.contract.enums import Confidence, LinkKind, MatchKind
from app.shapes import ChunkLink, Hit, Snippet

SCORE_DIGITS = 4
"""Decimals of a score in compact answers and in answers of ids."""
PAGE = "Page of a PDF or slide on which the passage begins, from 1; null for documents without pages."
MORE = "With `group_by`: further hits of the same document, best first; absent if there are none."
SNIPPET = "The sentences that match best, if `snippets` is set; absent otherwise."
RELEVANCE = (
    "Probability, 0 to 1, that the passage is relevant, comparable between queries and corpora; null if the embedding "
    "model is not calibrated."
)
RRF_SCORE = (
    "Score of reciprocal rank fusion: the sum over the legs of weight / (k + rank), with weights that average 1. "
    "Computed whichever fusion orders the results; null for a passage that only a later hop has found."
)
CONVEX_SCORE = (
    "Score of the convex combination: the weighted mean of the legs' scaled scores, 0 to 1. Computed whichever fusion "
    "orders the results; null for a passage that only a later hop has found."
)


def is_none(value: object) -> bool:
    """Whether the value is None; such a field can be left out of every response."""
    return value is None


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


class HopLink(BaseModel):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(description="Kind of the link.")
    source_chunk_id: UUID | None = Field(None, description="Id of the earlier chunk that contains the name.")
    chunks: int | None = Field(None, description="Number of chunks that contain the name.")
    steps: int | None = Field(None, description="Number of links from the query to the hit.")
    heading: bool = Field(False, description="Whether the name is a heading rather than the title of the document.")

    @classmethod
    def of(cls, link: ChunkLink) -> HopLink:
        """The response model of a link."""
        return cls(
            name=link.name,
            kind=link.signal,
            source_chunk_id=link.source_chunk_id,
            chunks=link.chunks,
            steps=link.steps,
            heading=link.heading,
        )


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
    page: int | None = Field(None, description=PAGE)
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    score: float = Field(description="Final score, 0 to 1; results are sorted by it unless `mmr` is set.")
    rrf_score: float | None = Field(None, description=RRF_SCORE)
    convex_score: float | None = Field(None, description=CONVEX_SCORE)
    vector_score: float | None = Field(None, description="Cosine similarity to the query.")
    text_score: float | None = Field(None, description="BM25 score.")
    vector_rank: int | None = Field(None, description="Rank in the vector leg, from 1.")
    text_rank: int | None = Field(None, description="Rank in the text leg, from 1.")
    relevance: float | None = Field(None, description=RELEVANCE)
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    strategies: list[str] = Field(description="Strategies that found the passage, such as `vector` and `text`.")
    parent: ParentEntity | None = Field(None, description="Linked entity; null unless entities guided the search.")
    boost: MentionBoost | None = Field(None, description="Boost for mentions of the query's entities, if any.")
    explain: dict[str, Any] | None = Field(
        None, description="Shares of the legs and steps of the score, in order, if `explain` is set."
    )
    hop: int | None = Field(None, description="With several hops: the one that found it.", exclude_if=is_none)
    combined_score: float | None = Field(
        None, description="With several hops: score over all hops, by which results are sorted.", exclude_if=is_none
    )
    via: HopLink | None = Field(None, description="How a later hop reached it.", exclude_if=is_none)
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
            relevance=hit.relevance,
            confidence=hit.confidence,
            strategies=list(hit.strategies),
            parent=_parent(hit),
            boost=_boost(hit),
            explain=None if hit.explain is None else dict(hit.explain),
            hop=hit.hop,
            combined_score=hit.combined_score,
            via=HopLink.of(hit.via) if hit.via else None,
            snippet=HitSnippet.of(hit.snippet) if hit.snippet else None,
            more=[cls.of(other) for other in hit.more] if hit.more else None,
        )


def _parent(hit: Hit) -> ParentEntity | None:
    if (guidance := hit.guidance) is None:
        return None
    return ParentEntity(
        entity_id=guidance.entity_id,
        parent_entity_score=guidance.score,
        link_strength=guidance.strength,
        doc_score=guidance.doc_score,
    )


def _boost(hit: Hit) -> MentionBoost | None:
    if (boost := hit.boost) is None:
        return None
    return MentionBoost(
        factor=boost.factor, mentions=boost.mentions, score_before=boost.score_before, places=boost.moved
    )


class CompactLink(BaseModel):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(description="Kind of the link.")

    @classmethod
    def of(cls, link: ChunkLink) -> CompactLink:
        """The response model of a link."""
        return cls(name=link.name, kind=link.signal)


class CompactHit(BaseModel):
    """A passage with what a language model needs to use and cite it."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    title: str = Field(description="Title of the document.")
    uri: str | None = Field(None, description="URI of the document.")
    page: int | None = Field(None, description=PAGE, exclude_if=is_none)
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    content: str = Field(description="Text of the passage.")
    score: float = Field(description="Final score, 0 to 1, rounded to four decimals.")
    relevance: float | None = Field(None, description=RELEVANCE)
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
            page=candidate.page,
            heading_path=list(candidate.heading_path),
            content=candidate.content,
            score=round(candidate.score, SCORE_DIGITS),
            relevance=None if hit.relevance is None else round(hit.relevance, SCORE_DIGITS),
            confidence=hit.confidence,
            via=CompactLink.of(hit.via) if hit.via else None,
            snippet=HitSnippet.of(hit.snippet) if hit.snippet else None,
            more=[cls.of(other) for other in hit.more] if hit.more else None,
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
