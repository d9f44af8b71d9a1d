"""Defines the response models of search, in the shape that `detail` selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from app.enums import Confidence, ExtractorUsed, MatchedBy, SearchMode
from app.http.responses import SCORE_DIGITS, Response, RoundedScore, ShownUri, is_empty, is_none
from app.query import answer_hints
from app.query.hop_signal_weights import LinkKind
from app.query.search_types import Answer, Candidate, Hit
from app.text import uris

PAGE = "Page of a PDF or slide that holds the middle of the passage, from 1; null for documents without pages."
MORE = "With `ranking.group`: further hits of the same document, best first; absent if there are none."
RELAXED = (
    "What was not searched as written: `constraints_dropped` (quotes and required words that no passage meets), "
    "`similar_words` (unknown words were corrected, or unknown codes searched as texts write them), "
    "`unknown_address` (an address of the web on a host that no text names), `nearest_vectors`."
)
RELEVANCE = (
    "Score of relevance, 0 to 1, which falls in the order of the results before `rerank`, `recency` and `mmr`; null "
    "without a text to compare it with. A probability only after `stepwell calibrate`."
)
RRF_SCORE = (
    "Score of reciprocal rank fusion: the sum over the legs of weight / (k + rank), with weights that are scaled to "
    "the sum 2: at most 2 / (k + 1), .0328 with k = 60, in every mode. A leg that did not find the passage adds 0. "
    "Computed whichever fusion orders the results; null for a passage that neither leg has found, but an entity or a "
    "later hop."
)
VECTOR_SCORE = "Cosine similarity to the query, whichever leg has found the passage; null without a query vector."
TEXT_SCORE = (
    "BM25 score, whichever leg has found the passage: 0 without a word of the query. Null if the text leg did not run, "
    "and for a passage that neither leg has found."
)
EXPLAIN_HIT = (
    "With `explain`: the steps of the score in their order, ranks and shares of the legs, strategies, source, offsets, "
    "boost, link and duplicates."
)
RRF_DIGITS = 6
"""Decimals of an RRF score. The largest score is .0328."""
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


class ParentEntity(Response):
    """The entity linked to a hit's document.

    The weight of `parent_entity_score` beside `doc_score` is (1 − `alpha`) times the aboutness of the entity.
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
    matches: list[Annotated[tuple[int, int], Field(json_schema_extra={"items": {"type": "integer"}})]] = Field(
        description="What matches, in order and without overlaps: `text[start:end]` of each pair."
    )


class HopLink(Response):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, the expanded term, or the question of the language model.")
    kind: LinkKind = Field(validation_alias="signal", description="Kind of the link.")
    source_chunk_id: UUID | None = Field(None, description="Id of the earlier chunk that contains the name.")


class SearchHit(BaseModel):
    """A passage. If neither leg found it, but an entity or a later hop did, only its cosine similarity is known."""

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
    explain: dict[str, Any] | None = Field(None, description=EXPLAIN_HIT, exclude_if=is_none)


class ScoredId(BaseModel):
    """The ids and the score of a hit."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    score: float = Field(description="Final score, 0 to 1.")
    more: list[ScoredId] | None = Field(None, description=MORE, exclude_if=is_none)


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
    """The fields of an answer that do not depend on the shape of its hits."""

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


class SearchResponse(AnswerWith[SearchHit]):
    """The response of a search with `detail: full` or `compact`."""


class SearchResponseOfIds(AnswerWith[ScoredId]):
    """The response of a search with `detail: ids`."""


SearchAnswer = TypeAliasType(
    "SearchAnswer",
    Annotated[
        SearchResponse | SearchResponseOfIds,
        Field(description="The response of a search, in the shape that `detail` selects."),
    ],
)


def response_of(answer: Answer) -> dict[str, Any]:
    """The response in the shape that `detail` selects, as a dictionary. No model is built, to save time."""
    is_two_pass = answer.guided is not None
    hits = list(map(_scored_id, answer.hits)) if answer.detail == "ids" else [_hit(hit, answer) for hit in answer.hits]
    always = {
        "results": hits,
        "total_results": len(hits) if answer.total_results is None else answer.total_results,
        "answerable": _round(answer.answerable),
        "next_cursor": answer.next_cursor,
        "took_ms": answer.took_ms,
    }
    if answer.hops is not None:
        always["hops"] = [HopSummary.of(hop) for hop in answer.hops]
    if is_two_pass:
        always["search_mode"] = "two_pass" if answer.guided else "flat"
        always["pass1_entities"] = list(map(MatchedEntity.of, answer.entities))
    if_any = {
        "degraded": answer.degraded,
        "relaxed": answer.relaxed,
        "hints": answer_hints.of(answer),
        "excluded": answer.excluded,
        "explain": _explain(answer),
    }
    return always | {name: value for name, value in if_any.items() if value}


def _round(score: float | None, digits: int = SCORE_DIGITS) -> float | None:
    return None if score is None else round(score, digits)


def _scored_id(hit: Hit) -> dict[str, Any]:
    found = hit.candidate
    more = {"more": list(map(_scored_id, hit.more))} if hit.more else {}
    return {**_ids(found), "score": _round(found.score), **more}


def _ids(found: Candidate) -> dict[str, Any]:
    """The ids as text. Pydantic does not know the driver's UUID class and takes ten times as long to write it."""
    return {"chunk_id": str(found.chunk_id), "document_id": str(found.document_id)}


def _hit(hit: Hit, answer: Answer) -> dict[str, Any]:
    found = hit.candidate
    shown: dict[str, Any] = {
        **_ids(found),
        "chunk_index": found.chunk_index,
        "title": found.title,
        "uri": found.uri and uris.show(found.uri),
        "heading_path": found.heading_path,
        "page": found.page,
    }
    if answer.detail == "full":
        shown["content"] = found.content
    elif hit.snippet:
        shown["snippet"] = {
            "text": hit.snippet.text,
            "matches": [(one.text_start, one.text_end) for one in hit.snippet.matches],
        }
    shown |= {
        "metadata": found.metadata,
        "score": _round(found.score),
        "relevance": _round(hit.relevance),
        "confidence": hit.confidence,
        "rrf_score": _round(found.rrf_score, RRF_DIGITS),
        "vector_score": _round(found.cosine if found.vector_score is None else found.vector_score),
        "text_score": _round(found.text_score),
    }
    if_any = {
        "hop": hit.hop,
        "via": hit.via and HopLink.of(hit.via),
        "combined_score": _round(hit.combined_score),
        "parent": ParentEntity.of(hit.guidance) if answer.guided and hit.guidance else None,
        "more": [_hit(other, answer) for other in hit.more] or None,
        "explain": None if hit.explain is None else _explained(hit, hit.explain),
    }
    return shown | {name: value for name, value in if_any.items() if value is not None}


def _explained(hit: Hit, steps: Mapping[str, Any]) -> dict[str, Any]:
    """The explanation of a hit: its other details, followed by the steps of its score."""
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
        facts["link"] = {"chunks": hit.via.chunks, "steps": hit.via.steps, "heading": hit.via.heading}
    if hit.duplicates:
        documents = [
            {"document_id": one.document_id, "title": one.title, "uri": one.uri and uris.show(one.uri)}
            for one in hit.duplicate_documents
        ]
        facts |= {"duplicates": len(hit.duplicates), "duplicate_documents": documents}
    return {**facts, **steps}


def _explain(answer: Answer) -> dict[str, Any] | None:
    """How the query was read and answered; None if the request does not ask for it."""
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
