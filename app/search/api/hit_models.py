"""Defines the response models of a hit: with its passage or the best sentences of it, or with ids and score only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from app.http.responses import Response, RoundedScore, ShownUri, is_none, rounded
from app.kinds import Confidence
from app.query.signals import LinkKind
from app.query.snippets import Snippet
from app.query.types import Answer, ChunkLink, Hit
from app.text import uris

PAGE = "Page of a PDF or slide on which the passage begins, from 1; null for documents without pages."
MORE = "With `ranking.group`: further hits of the same document, best first; absent if there are none."
RELAXED = (
    "What was not searched as written: `constraints_dropped` (quotes and required words that no passage meets), "
    "`similar_words` (stored words that differ by a typing error from unknown ones were searched too, or similar ones "
    "instead), `nearest_vectors`."
)
RELEVANCE = (
    "Score of relevance, 0 to 1, which falls in the order of the results; null without a text to compare it with. "
    "A probability only after `stepwell calibrate`."
)
RRF_SCORE = (
    "Score of reciprocal rank fusion: the sum over the legs of weight / (k + rank), with weights that are scaled to "
    "the sum 2: at most 2 / (k + 1), .0328 with k = 60, in every mode. A leg whose candidates lack the passage has no "
    "rank of it and adds 0. Computed whichever fusion orders the results; "
    "null for a passage that neither leg has found, but an entity or a later hop."
)
VECTOR_SCORE = "Cosine similarity to the query, whichever leg has found the passage; null without a query vector."
TEXT_SCORE = (
    "BM25 score, whichever leg has found the passage: 0 without a word of the query. Null if the text leg did not run, "
    "and for a passage that neither leg has found."
)
EXPLAIN = (
    "With `explain`: the steps of the score in their order, ranks and shares of the legs, strategies, source, offsets, "
    "boost, link and duplicates."
)
RRF_DIGITS = 6
"""Decimals of an RRF score, which is at most .0328."""


class ParentEntity(Response):
    """The entity linked to a hit's document.

    `score = (1 − w) · doc_score + w · parent_entity_score`, with `w = (1 − alpha) · aboutness`.
    """

    entity_id: UUID | None = Field(None, description="Id of the entity; null if the document is linked to none.")
    parent_entity_score: RoundedScore = Field(
        validation_alias="score", description="Score of the best entity, lower for a weak link; 0 without one."
    )
    link_strength: RoundedScore = Field(
        validation_alias="strength", description="Strength of the link between document and entity."
    )
    doc_score: RoundedScore = Field(
        description="Score of the passage itself with its boost; above 1 if the boost exceeds it."
    )


class HitSnippet(BaseModel):
    """The one to three sentences of a passage that match the query best; the whole passage if nothing matches.

    Offsets count code points of `text`, as Python's strings do.
    """

    text: str = Field(description="The sentences as plain text, without the marks of Markdown.")
    matches: list[tuple[int, int]] = Field(
        description="What matches, in order and without overlaps: `text[start:end]` of each pair."
    )

    @classmethod
    def of(cls, snippet: Snippet) -> Self:
        """The response model of a snippet."""
        return cls(text=snippet.text, matches=[(one.text_start, one.text_end) for one in snippet.matches])


class HopLink(Response):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(validation_alias="signal", description="Kind of the link.")
    source_chunk_id: UUID | None = Field(None, description="Id of the earlier chunk that contains the name.")


class SearchHit(BaseModel):
    """A passage. If neither leg has found it, but an entity or a later hop, only its cosine similarity is known."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    chunk_index: int = Field(description="Index of the chunk in its document, from 0.")
    title: str = Field(description="Title of the document.")
    uri: ShownUri | None = Field(None, description="URI of the document; of a file its path.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    page: int | None = Field(None, description=PAGE)
    content: str | None = Field(None, description="With `detail: full`: text of the passage.", exclude_if=is_none)
    snippet: HitSnippet | None = Field(
        None, description="With `detail: compact`: the sentences that match best.", exclude_if=is_none
    )
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    score: float = Field(description="Final score, 0 to 1; results are sorted by it unless `mmr` is set.")
    relevance: float | None = Field(None, description=RELEVANCE)
    confidence: Confidence = Field(description="The word for `relevance`; `medium` without it.")
    rrf_score: float | None = Field(None, description=RRF_SCORE)
    vector_score: float | None = Field(None, description=VECTOR_SCORE)
    text_score: float | None = Field(None, description=TEXT_SCORE)
    hop: int | None = Field(None, description="With several hops: the one that found it.", exclude_if=is_none)
    via: HopLink | None = Field(None, description="How a later hop reached it.", exclude_if=is_none)
    combined_score: float | None = Field(
        None, description="With several hops: score over all hops, by which results are sorted.", exclude_if=is_none
    )
    parent: ParentEntity | None = Field(
        None, description="With `search_mode` two_pass: the linked entity.", exclude_if=is_none
    )
    more: list[SearchHit] | None = Field(None, description=MORE, exclude_if=is_none)
    explain: dict[str, Any] | None = Field(None, description=EXPLAIN, exclude_if=is_none)

    @classmethod
    def of(cls, hit: Hit, answer: Answer) -> Self:
        """The response model of a hit of an answer."""
        found = hit.candidate
        return cls(
            chunk_id=found.chunk_id,
            document_id=found.document_id,
            chunk_index=found.chunk_index,
            title=found.title,
            uri=found.uri,
            heading_path=list(found.heading_path),
            page=found.page,
            content=None if answer.detail == "compact" else found.content,
            snippet=HitSnippet.of(hit.snippet) if answer.detail == "compact" and hit.snippet else None,
            metadata=dict(found.metadata),
            score=rounded(found.score),
            relevance=rounded(hit.relevance),
            confidence=hit.confidence,
            rrf_score=rounded(found.rrf_score, RRF_DIGITS),
            vector_score=rounded(found.cosine if found.vector_score is None else found.vector_score),
            text_score=rounded(found.text_score),
            hop=hit.hop,
            via=HopLink.of(hit.via) if hit.via else None,
            combined_score=rounded(hit.combined_score),
            parent=ParentEntity.of(hit.guidance) if answer.guided and hit.guidance else None,
            more=[cls.of(other, answer) for other in hit.more] or None,
            explain=None if hit.explain is None else explained(hit, hit.explain),
        )


class ScoredId(BaseModel):
    """The ids and the score of a hit."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    score: float = Field(description="Final score, 0 to 1.")
    more: list[ScoredId] | None = Field(None, description=MORE, exclude_if=is_none)

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """The response model of a hit."""
        found = hit.candidate
        more = [cls.of(other) for other in hit.more] or None
        return cls(chunk_id=found.chunk_id, document_id=found.document_id, score=rounded(found.score), more=more)


def explained(hit: Hit, steps: Mapping[str, Any]) -> dict[str, Any]:
    """The steps of a hit's score, after what else is known of the hit."""
    found = hit.candidate
    facts: dict[str, Any] = {
        "source_id": found.source_id,
        "source": hit.source,
        "start_offset": found.start_offset,
        "end_offset": found.end_offset,
        "strategies": list(hit.strategies),
        "vector_rank": found.vector_rank,
        "text_rank": found.text_rank,
        "convex_score": found.convex_score,
    }
    if hit.guidance:
        facts["parent"] = ParentEntity.of(hit.guidance).model_dump()
    if hit.boost:
        facts["mentions"], facts["places"] = hit.boost.mentions, hit.boost.moved
    if hit.via:
        facts["link"] = _link(hit.via)
    if hit.duplicates:
        documents = [
            {"document_id": one.document_id, "title": one.title, "uri": one.uri and uris.show(one.uri)}
            for one in hit.duplicate_documents
        ]
        facts |= {"duplicates": len(hit.duplicates), "duplicate_documents": documents}
    return {**facts, **steps}


def _link(via: ChunkLink) -> dict[str, Any]:
    """What is known of a link besides its name and kind."""
    return {"chunks": via.chunks, "steps": via.steps, "heading": via.heading}
