"""Defines the options of the operations as typed keyword arguments; the service's documentation describes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypedDict
from uuid import UUID

Mode = Literal["auto", "hybrid", "semantic", "lexical"]
Detail = Literal["full", "preview", "compact", "ids"]
Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]
Filters = Mapping[str, Any]


class Recency(TypedDict, total=False):
    """How much newer documents are raised, and older ones lowered."""

    half_life_days: float
    weight: float
    field: str
    only_if_asked: bool


class HitOptions(TypedDict, total=False):
    """Options of every search."""

    limit: int
    filters: Filters
    exclude_chunk_ids: Sequence[UUID | str]
    detail: Detail
    cursor: str
    group_by: Literal["document"]
    group_size: int
    collapse: Literal["duplicates"]


class SimilarOptions(HitOptions, total=False):
    """Options of a search for similar passages."""

    vector: list[float]


class MultihopOptions(HitOptions, total=False):
    """Options of a search over several hops."""

    mode: Mode
    max_hops: int
    hierarchy: Literal["auto", "off", "force"]
    extractor: str
    merge: str
    rerank: Literal["none", "cosine", "provider"]
    rerank_weight: float
    mmr: bool
    mmr_lambda: float
    recency: Recency | Literal["auto"]
    explain: bool
    snippets: bool


class SearchOptions(SimilarOptions, total=False):
    """Options of a search."""

    mode: Mode
    fusion: Literal["auto", "rrf", "convex"]
    weights: dict[str, float]
    hierarchy: Literal["auto", "off", "force"]
    alpha: float
    threshold: float
    max_entities: int
    boost: bool
    k: int
    candidates: int
    rerank: Literal["none", "cosine", "provider"]
    rerank_weight: float
    mmr: bool
    mmr_lambda: float
    min_vector_score: float
    min_rrf_score: float
    min_confidence: Confidence
    recency: Recency | Literal["auto"]
    min_relevance: float
    depth: Literal["fast", "thorough", "auto"]
    explain: bool
    snippets: bool


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
    detail: Literal["full", "compact", "ids"]
    merge: str
    k: int
    rerank: Literal["none", "cosine", "provider"]
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
