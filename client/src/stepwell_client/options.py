"""Defines the options of the operations as typed keyword arguments; the service's documentation describes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypedDict
from uuid import UUID

Mode = Literal["auto", "hybrid", "semantic", "lexical"]
Detail = Literal["full", "compact", "ids"]
Rerank = Literal["none", "cosine", "provider"]
Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]
Filters = Mapping[str, Any]


class LegWeights(TypedDict, total=False):
    """Weights of the two legs of a search."""

    vector: float
    text: float


class Guidance(TypedDict, total=False):
    """Use of the entities that a query names."""

    mode: Literal["auto", "off", "force"]
    alpha: float
    threshold: float
    max_entities: int
    boost: bool


class Recency(TypedDict, total=False):
    """How much newer documents are raised, and older ones lowered."""

    half_life_days: float
    weight: float
    field: str
    only_if_asked: bool


class Hops(TypedDict, total=False):
    """Options of a search over several hops."""

    max_hops: int
    merge: Literal["linked", "classic"]
    extractor: Literal["auto", "llm", "entities", "statistical", "none"]


class Group(TypedDict, total=False):
    """Groups results: each is the best passage of a document, with up to `size` further ones in `more`."""

    by: Literal["document"]
    size: int


class RankingOptions(TypedDict, total=False):
    """What tunes a search: the fields of `ranking` in a request."""

    fusion: Literal["auto", "rrf", "convex"]
    weights: LegWeights
    k: int
    candidates: int
    guidance: Guidance
    mmr: bool
    mmr_lambda: float
    rerank: Rerank
    rerank_weight: float
    recency: Recency | Literal["auto"]
    min_vector_score: float
    min_rrf_score: float
    min_confidence: Confidence
    min_relevance: float
    hops: Hops
    group: Group


class HitOptions(TypedDict, total=False):
    """Options of every request for passages."""

    vector: Sequence[float]
    limit: int
    filters: Filters
    exclude_chunk_ids: Sequence[UUID | str]
    cursor: str
    detail: Detail
    collapse: Literal["duplicates", "off"]


class SearchOptions(HitOptions, RankingOptions, total=False):
    """Options of a search, and what tunes it."""

    mode: Mode
    depth: Literal["fast", "auto", "thorough"]
    explain: bool


class SimilarOptions(HitOptions, total=False):
    """Options of a search for similar passages."""

    group: Group


class DocumentOptions(TypedDict, total=False):
    """What a document has besides its text."""

    title: str
    uri: str
    metadata: dict[str, Any]
    language: str
    created_at: str | date


class PageFields(TypedDict, total=False):
    """What the documents of a page have besides their text."""

    title: str
    metadata: dict[str, Any]
    language: str
    text_field: str


class UploadOptions(TypedDict, total=False):
    """What the documents of uploaded files have besides their text; `uri` and `title` with one file only."""

    title: str
    uri: str
    metadata: dict[str, Any]
    language: str
    text_field: str


class SourceOptions(TypedDict, total=False):
    """Options of a source."""

    name: str
    globs: list[str]
    text_field: str
    watch: bool


class WhyOptions(SearchOptions, total=False):
    """The passage to explain, by one of its keys, and the options of the search."""

    chunk_id: UUID | str
    document_id: UUID | str
    uri: str


class PageOptions(TypedDict, total=False):
    """Options of a listing."""

    limit: int
    cursor: str


class ListOptions(PageOptions, total=False):
    """Options of a listing of documents."""

    uri: str
    query: str
    sort: Literal["newest", "oldest", "changed", "title"]


class ChunkOptions(TypedDict, total=False):
    """Options of a listing of chunks."""

    limit: int
    offset: int


class FacetOptions(TypedDict, total=False):
    """Options of a listing of keys of metadata."""

    key: str
    prefix: str
    limit: int


class EntityListOptions(PageOptions, total=False):
    """Options of a listing of entities."""

    type: str
    origin: str
    q: str


class EntityOptions(TypedDict, total=False):
    """What an entity has besides its type and name."""

    entity_id: UUID | str
    aliases: list[str]
    role: str
    description: str
    facts: list[str]
    members: Sequence[UUID | str]
    metadata: dict[str, Any]


class EntitySearchOptions(TypedDict, total=False):
    """Options of a search for entities."""

    type: str
    limit: int
    min_score: float


class RerankOptions(TypedDict, total=False):
    """Options of merging lists of hits."""

    query: str
    limit: int
    detail: Detail
    merge: Literal["rrf", "classic"]
    k: int
    rerank: Rerank
    rerank_weight: float
    mmr: bool
    mmr_lambda: float


class Passage(TypedDict, total=False):
    """A passage, by the id of its chunk or of its document."""

    chunk_id: UUID | str
    document_id: UUID | str


class JobOptions(PageOptions, total=False):
    """Options of a listing of background jobs."""

    status: Literal["queued", "running", "done", "failed", "cancelled"]


DocumentId = UUID | str
