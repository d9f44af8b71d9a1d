"""Defines the options of the operations as typed keyword arguments; the service's documentation describes each."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
from uuid import UUID

Mode = Literal["auto", "hybrid", "semantic", "lexical"]
Detail = Literal["full", "preview"]


class SimilarOptions(TypedDict, total=False):
    """Options of a search for similar passages."""

    limit: int
    filters: dict[str, Any]
    exclude_chunk_ids: list[str]


class MultihopOptions(SimilarOptions, total=False):
    """Options of a search over several hops."""

    mode: Mode
    max_hops: int
    hierarchy: Literal["auto", "off", "force"]
    rerank: Literal["none", "cosine", "provider"]
    mmr: bool
    detail: Detail
    explain: bool
    snippets: bool


class SearchOptions(SimilarOptions, total=False):
    """Options of a search."""

    mode: Mode
    fusion: Literal["auto", "rrf", "convex"]
    weights: dict[str, float]
    hierarchy: Literal["auto", "off", "force"]
    boost: bool
    rerank: Literal["none", "cosine", "provider"]
    mmr: bool
    min_confidence: str
    min_relevance: float
    depth: Literal["fast", "thorough", "auto"]
    detail: Detail
    explain: bool
    snippets: bool


class DocumentOptions(TypedDict, total=False):
    """What a document has besides its text."""

    title: str
    uri: str
    metadata: dict[str, Any]
    language: str
    created_at: str


class UploadOptions(TypedDict, total=False):
    """What the documents of uploaded files have besides their text; `uri` and `title` with one file only."""

    title: str
    uri: str
    metadata: dict[str, Any]
    language: str
    text_field: str


class SourceOptions(TypedDict, total=False):
    """Options of a source."""

    globs: list[str]
    text_field: str
    watch: bool


class WhyOptions(SearchOptions, total=False):
    """The passage to explain, by one of its keys, and the options of the search."""

    chunk_id: str
    document_id: str
    uri: str


class PageOptions(TypedDict, total=False):
    """Options of a listing."""

    limit: int
    cursor: str


class ListOptions(PageOptions, total=False):
    """Options of a listing of documents."""

    uri: str


class JobOptions(PageOptions, total=False):
    """Options of a listing of background jobs."""

    status: Literal["queued", "running", "done", "failed", "cancelled"]


DocumentId = UUID | str
