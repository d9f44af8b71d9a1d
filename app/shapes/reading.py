"""What travels on the way out: Query → Candidate → Hit → Answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.shapes.entities import Origin
from app.shapes.kinds import (
    Confidence,
    Degraded,
    Detail,
    Fusion,
    Hierarchy,
    Json,
    MatchedBy,
    Mode,
    QueryType,
    Rerank,
    SearchMode,
    Vector,
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query taken apart by the desk.

    `text` is what is embedded: no operators, no excluded words. `words` is what BM25 scores (any may match).
    `required`, `phrases` and `excluded` are hard: words or phrases as the user wrote them, without operators or quotes.
    """

    text: str
    words: str
    required: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    query_type: QueryType = "keyword"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer. `created_after` is inclusive, `created_before` exclusive.

    `metadata` is containment, and a value such as `{"gte": 2020, "lt": 2024}` is a range on a number or an ISO date.
    """

    document_ids: tuple[UUID, ...] | None = None
    source_ids: tuple[UUID, ...] | None = None
    metadata: Json | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def __bool__(self) -> bool:
        return any(
            value is not None
            for value in (self.document_ids, self.source_ids, self.metadata, self.created_after, self.created_before)
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each leg counts; a leg of weight 0 is not run."""

    vector: float = 1.0
    text: float = 1.0


@dataclass(frozen=True, slots=True)
class Guidance:
    """How entities may guide a search.

    `alpha` in 0 to 1 is the share of a passage's own score, the rest its entity's. A match counts from `threshold`
    (0 to 1) on; at most `max_entities` (1 to 20) count. `boost` lifts passages that mention what the query names, by
    entity type so much a mention and so much at most.
    """

    hierarchy: Hierarchy = "auto"
    alpha: float = 0.5
    threshold: float = 0.5
    max_entities: int = 5
    boost: bool = True
    boost_by_type: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A search as the corridor gets it. None means: choose by `mode`."""

    user_id: str
    text: str
    limit: int = 5
    mode: Mode = "auto"
    fusion: Fusion = "auto"
    weights: Weights | None = None
    k: int = 60
    candidates: int = 100
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: tuple[UUID, ...] = ()
    min_vector_score: float | None = None
    min_rrf_score: float | None = None
    min_confidence: Confidence | None = None
    detail: Detail = "full"
    explain: bool = False
    guidance: Guidance = field(default_factory=Guidance)
    rerank: Rerank = "none"
    mmr: bool = False


@dataclass(frozen=True, slots=True)
class IndexText:
    """Text prepared for Postgres' analysis, once with accents folded and once with them kept; see `text.lexical`."""

    folded: str
    plain: str


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What the text leg is asked: words of which any may match, and phrases that must or must not stand in a chunk."""

    words: IndexText
    strict: tuple[IndexText, ...] = ()
    excluded: tuple[IndexText, ...] = ()


@dataclass(frozen=True, slots=True)
class HybridRequest:
    """What the hybrid statement is asked. Without a vector or without words that leg does not run."""

    user_id: str
    vector: Vector | None
    lexical: LexicalQuery | None
    weights: Weights
    fusion: Literal["rrf", "convex"]
    limit: int
    k: int = 60
    candidates: int = 100
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: tuple[UUID, ...] = ()
    min_vector_score: float | None = None
    min_rrf_score: float | None = None
    with_content: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk as the hybrid statement found it, with every part of its score."""

    chunk_id: UUID
    document_id: UUID
    source_id: UUID | None
    title: str
    uri: str | None
    content: str
    chunk_index: int
    start_offset: int
    end_offset: int
    heading_path: tuple[str, ...]
    metadata: Json
    score: float
    rrf_score: float | None
    convex_score: float | None
    vector_score: float | None
    text_score: float | None
    vector_rank: int | None
    text_rank: int | None


@dataclass(frozen=True, slots=True)
class Term:
    """A lexeme of the query with its document frequency and idf among the user's chunks, and how often it was asked."""

    lexeme: str
    df: int
    idf: float
    times: int = 1


@dataclass(frozen=True, slots=True)
class HybridResult:
    """The hybrid statement's answer: candidates in order, and what it did to find them."""

    candidates: tuple[Candidate, ...]
    terms: tuple[Term, ...]
    corpus_chunks: int
    scope_chunks: int
    vector_plan: Literal["none", "exact", "hnsw"]
    vector_found: int
    text_found: int
    approximate: bool


@dataclass(frozen=True, slots=True)
class LegScores:
    """A chunk with nothing but the scores of both legs: the cosine and the BM25, None where a leg lacks it."""

    chunk_id: UUID
    document_id: UUID
    vector_score: float | None
    text_score: float | None


@dataclass(frozen=True, slots=True)
class LinkedChunk:
    """A chunk to which names lead, with the weight of each way and the name that leads there; see `links.sql`."""

    chunk_id: UUID
    document_id: UUID
    similarity: float | None
    named_name: str | None = None
    named_heading: bool | None = None
    linked: float | None = None
    linked_chunks: int | None = None
    linked_steps: int | None = None
    linked_name: str | None = None
    linked_heading: bool | None = None
    linked_source: UUID | None = None
    shared: float | None = None
    shared_chunks: int | None = None
    shared_name: str | None = None
    shared_source: UUID | None = None


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in one of some chunks: its words, how many chunks hold it, and the first of those chunks that does."""

    name: str
    name_key: str
    chunks: int
    chunk_id: UUID


@dataclass(frozen=True, slots=True)
class Via:
    """How a later hop came to a chunk: the name, where it stands, in how many chunks, and how many steps it took.

    `heading`: the name is that of the chunk's section and not of its document.
    """

    name: str
    kind: Literal["linked", "shared", "named", "expanded"]
    source_chunk_id: UUID | None = None
    chunks: int | None = None
    steps: int | None = None
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Hop:
    """One retrieval round: what was asked, with which terms from whom, and how many chunks were new to it."""

    hop: int
    query: str
    result_count: int
    expanded_terms: tuple[str, ...] = ()
    extractor: Literal["llm", "entities", "statistical"] | None = None
    error: str | None = None
    best_similarity: float | None = None


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity that a query is about: how sure (0 to 1), by what, and the key of its name if the query holds that."""

    entity_id: UUID
    name: str
    type: str
    origin: Origin
    score: float
    matched_by: MatchedBy
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A document that is about an entity of the query: that entity, its score, and how strong the link is."""

    document_id: UUID
    entity_id: UUID
    score: float
    strength: float


@dataclass(frozen=True, slots=True)
class Parent:
    """What an entity adds to a hit: `final = alpha · doc_score + (1 − alpha) · score`."""

    entity_id: UUID | None
    score: float
    strength: float
    doc_score: float


@dataclass(frozen=True, slots=True)
class Boost:
    """What mentioning the query's entities adds to a hit: the factor, for how many mentions, on which score, and how
    many places that moves it up."""

    factor: float
    mentions: int
    score_before: float
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer: the candidate, how sure we are of it, and the reasons for its place."""

    candidate: Candidate
    confidence: Confidence
    strategies: tuple[str, ...]
    explain: Json | None = None
    hop: int | None = None
    combined_score: float | None = None
    via: Via | None = None
    parent: Parent | None = None
    boost: Boost | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What every search answers."""

    hits: tuple[Hit, ...]
    confidence: Confidence | None
    strategies_matched: tuple[str, ...]
    query_type: QueryType | None
    mode: Mode
    fusion: Literal["rrf", "convex"] | None
    search_mode: SearchMode
    fallback_reason: str | None
    approximate: bool
    degraded: tuple[Degraded, ...]
    relaxed: tuple[str, ...]
    timings: Mapping[str, float]
    explain: Json | None = None
    hops: tuple[Hop, ...] | None = None
    total_results: int | None = None
    pass1_entities: tuple[EntityMatch, ...] = ()
