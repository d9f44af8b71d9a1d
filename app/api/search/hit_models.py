"""Defines the response models of a hit: with every field, compact, or with ids and score only."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import fields
from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasGenerator, AliasPath, BeforeValidator, ConfigDict, Field

from app.api.contract.enums import Confidence, LinkKind, MatchKind
from app.api.contract.responses import NoneIfEmpty, Response, RoundedScore, ShownUri, is_none
from app.api.documents.document_models import DuplicateDocument
from app.shapes import Candidate, limits

PAGE = "Page of a PDF or slide on which the passage begins, from 1; null for documents without pages."
MORE = "With `group_by`: further hits of the same document, best first; absent if there are none."
SNIPPET = "The sentences that match best, as plain text, if `snippets` is set; absent otherwise."
RELAXED = (
    "What was not searched as written: `constraints_dropped` (quotes and required words that no passage meets), "
    "`similar_words` (stored words that differ by a typing error from unknown ones were searched too, or similar ones "
    "instead), `nearest_vectors`."
)
RELEVANCE = (
    "Probability, 0 to 1, that the passage is relevant, comparable between queries and corpora; null if the embedding "
    "model is not calibrated."
)
RRF_SCORE = (
    "Score of reciprocal rank fusion: the sum over the legs of weight / (k + rank), with weights that are scaled to "
    "the sum 2: at most 2 / (k + 1), .0328 with k = 60, in every mode. Computed whichever fusion orders the results; "
    "null for a passage that neither leg has found, but an entity or a later hop."
)
CONVEX_SCORE = (
    "Score of the convex combination: the weighted mean of the legs' scaled scores, 0 to 1. Computed whichever fusion "
    "orders the results; null for a passage that neither leg has found, but an entity or a later hop."
)


VECTOR_SCORE = (
    "Cosine similarity to the query; null for a passage that only the text leg has found, and without a query vector."
)


DUPLICATES = "With `collapse`: number of passages that repeat this one and are no results; absent if there are none."
DUPLICATE_DOCUMENTS = (
    f"With `collapse`: the other documents with such passages, best first, at most {limits.MAX_NAMED_DUPLICATES}."
)


_CANDIDATE_FIELDS = frozenset(one.name for one in fields(Candidate))


def _path(name: str) -> str | AliasPath:
    return AliasPath("candidate", name) if name in _CANDIDATE_FIELDS else name


def _count(found: Sized | int | None) -> int | None:
    """The number of passages; null for none."""
    return (len(found) if isinstance(found, Sized) else found) or None


class HitResponse(Response):
    """A response whose fields are the attributes of a hit and of its candidate."""

    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=_path))


Duplicates = Annotated[int | None, BeforeValidator(_count), Field(description=DUPLICATES, exclude_if=is_none)]
DuplicateDocuments = Annotated[
    list[DuplicateDocument] | None, NoneIfEmpty, Field(description=DUPLICATE_DOCUMENTS, exclude_if=is_none)
]


class ParentEntity(Response):
    """The entity linked to a hit's document.

    `score = (1 − w) · doc_score + w · parent_entity_score`, with `w = (1 − alpha) · aboutness`.
    """

    entity_id: UUID | None = Field(None, description="Id of the entity; null if the document is linked to none.")
    parent_entity_score: float = Field(
        validation_alias="score", description="Score of the best entity, lower for a weak link; 0 without one."
    )
    link_strength: float = Field(
        validation_alias="strength", description="Strength of the link between document and entity."
    )
    doc_score: float = Field(description="Score of the passage itself with its boost; above 1 if the boost exceeds it.")


class MentionBoost(Response):
    """The boost of a hit that mentions entities of the query."""

    factor: float = Field(description="Factor by which the score was multiplied.")
    mentions: int = Field(description="Number of the query's entities that the passage mentions.")
    score_before: float = Field(description="Score before the boost.")
    places: int = Field(validation_alias="moved", description="Number of ranks by which the hit moved up.")


class SnippetMatch(Response):
    """What the query matches in a passage."""

    start: int = Field(description="Offset of the match's first code point in the passage's whole text.")
    end: int = Field(description="Offset of the code point after its last.")
    text_start: int = Field(description="Offset of the match's first code point in the snippet's `text`.")
    text_end: int = Field(description="Offset of the code point after its last there.")
    kind: MatchKind = Field(description="What of the query matches.")


class HitSnippet(Response):
    """The one to three sentences of a passage that match the query best; the whole passage if nothing matches.

    Offsets count code points, as Python's strings do, in the passage's whole text, also if `detail` shortens it, and
    for `text_start` and `text_end` in `text`.
    """

    text: str = Field(description="The sentences as plain text, without the marks of Markdown.")
    start: int = Field(description="Offset of the snippet's first code point in the passage's whole text.")
    end: int = Field(description="Offset of the code point after its last.")
    matches: list[SnippetMatch] = Field(description="Matches in the snippet, in order and without overlaps.")


class HopLink(Response):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(validation_alias="signal", description="Kind of the link.")
    source_chunk_id: UUID | None = Field(None, description="Id of the earlier chunk that contains the name.")
    chunks: int | None = Field(None, description="Number of chunks that contain the name.")
    steps: int | None = Field(None, description="Number of links from the query to the hit.")
    heading: bool = Field(False, description="Whether the name is a heading rather than the title of the document.")


class SearchHit(HitResponse):
    """A passage. The score and the rank of a leg that did not find it are null.

    If neither leg has found it, but an entity or a later hop, only its cosine similarity is known.
    """

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    source_id: UUID | None = Field(None, description="Id of the source of the document.")
    source: str | None = Field(None, description="Name of that source.", exclude_if=is_none)
    title: str = Field(description="Title of the document.")
    uri: ShownUri | None = Field(None, description="URI of the document; of a file its path.")
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
    vector_score: float | None = Field(None, description=VECTOR_SCORE)
    text_score: float | None = Field(None, description="BM25 score.")
    vector_rank: int | None = Field(None, description="Rank in the vector leg, from 1.")
    text_rank: int | None = Field(None, description="Rank in the text leg, from 1.")
    relevance: float | None = Field(None, description=RELEVANCE)
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    strategies: list[str] = Field(description="Strategies that found the passage, such as `vector` and `text`.")
    parent: ParentEntity | None = Field(
        None, validation_alias="guidance", description="Linked entity; null unless entities guided the search."
    )
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
    duplicates: Duplicates = None
    duplicate_documents: DuplicateDocuments = None
    more: Annotated[list[SearchHit] | None, NoneIfEmpty] = Field(None, description=MORE, exclude_if=is_none)


class CompactLink(Response):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(validation_alias="signal", description="Kind of the link.")


class CompactHit(HitResponse):
    """A passage with what a language model needs to use and cite it."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    title: str = Field(description="Title of the document.")
    uri: ShownUri | None = Field(None, description="URI of the document; of a file its path.")
    page: int | None = Field(None, description=PAGE, exclude_if=is_none)
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    content: str = Field(description="Text of the passage.")
    score: RoundedScore = Field(description="Final score, 0 to 1, rounded to four decimals.")
    relevance: RoundedScore | None = Field(None, description=RELEVANCE)
    confidence: Confidence = Field(description="Confidence that the passage is relevant.")
    hop: int | None = Field(None, description="With several hops: the one that found it.", exclude_if=is_none)
    via: CompactLink | None = Field(None, description="How a later hop reached it; null for hop 1 and without hops.")
    snippet: HitSnippet | None = Field(None, description=SNIPPET, exclude_if=is_none)
    duplicates: Duplicates = None
    duplicate_documents: DuplicateDocuments = None
    more: Annotated[list[CompactHit] | None, NoneIfEmpty] = Field(None, description=MORE, exclude_if=is_none)


class ScoredId(HitResponse):
    """The ids and the score of a hit."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    score: RoundedScore = Field(description="Final score, 0 to 1, rounded to four decimals.")
    duplicates: Duplicates = None
    more: Annotated[list[ScoredId] | None, NoneIfEmpty] = Field(None, description=MORE, exclude_if=is_none)
