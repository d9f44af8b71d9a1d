"""Defines the responses of the service. Fields that a newer service adds are kept as extra attributes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]


class Model(BaseModel):
    """Base of all responses."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Snippet(Model):
    """The sentences of a passage that match best; offsets are those of code points in the passage's whole text."""

    text: str
    start: int
    end: int
    matches: list[dict[str, Any]]


class Hit(Model):
    """A passage; which fields it has depends on `detail`, `compact` leaves out `document_id`.

    The other fields of a full answer are extra attributes.
    """

    chunk_id: UUID
    document_id: UUID | None = None
    title: str = ""
    uri: str | None = None
    content: str = ""
    chunk_index: int | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    heading_path: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    page: int | None = None
    score: float
    relevance: float | None = None
    confidence: Confidence | None = None
    strategies: list[str] = Field(default_factory=list)
    hop: int | None = None
    snippet: Snippet | None = None
    more: list[Hit] | None = None


class SynonymGroup(Model):
    """Words and phrases that stand for one another, or that are expanded to others."""

    terms: list[str]
    expand_to: list[str] = Field(default_factory=list)


class Synonyms(Model):
    """The groups of a user."""

    groups: list[SynonymGroup]


class Answer(Model):
    """The answer of a search."""

    results: list[Hit]
    confidence: Confidence | None = None
    answerable: float | None = None
    search_mode: str | None = None
    detail: str | None = None
    depth: str | None = None
    depth_reason: str | None = None
    fallback_reason: str | None = None
    degraded: list[str] = Field(default_factory=list)
    relaxed: list[str] = Field(default_factory=list)
    hints: list[str] = Field(default_factory=list)
    next_cursor: str | None = None


class Placement(Model):
    """Where a passage stands in a search; `changes` of the request bring it in."""

    verdict: str
    summary: str
    rank: int | None = None
    limit: int
    legs: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    changes: list[dict[str, Any]] = Field(default_factory=list)


class DocumentResult(Model):
    """The result of storing a document."""

    document_id: UUID
    status: Literal["added", "replaced", "changed", "unchanged", "queued"]
    uri: str | None = None
    title: str
    chunk_count: int
    embedded: int
    warnings: list[str] = Field(default_factory=list)
    job_id: UUID | None = None


class DocumentFailure(Model):
    """A document of a list that was not stored."""

    index: int
    uri: str | None = None
    code: str
    detail: str


class DocumentResults(Model):
    """The results of storing several documents."""

    documents: list[DocumentResult]
    failed: list[DocumentFailure] = Field(default_factory=list)


class Document(Model):
    """A stored document; `content` only if it was read by its id."""

    document_id: UUID
    uri: str | None = None
    title: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    chunk_count: int
    created_at: datetime
    content: str | None = None


class DocumentPage(Model):
    """A page of documents, newest first."""

    documents: list[Document]
    next_cursor: str | None = None


class DocumentsDeletion(Model):
    """The numbers of deleted rows; `matched` are those of a dry run, `remaining` what the tables still have."""

    dry_run: bool
    documents_deleted: int
    chunks_deleted: int
    matched: dict[str, int] | None = None
    remaining: dict[str, int] | None = None


class Source(Model):
    """A folder whose documents are kept in step with it; the numbers are absent right after it was added."""

    source_id: UUID
    name: str | None = None
    path: str
    globs: list[str]
    watch: bool
    synced_at: datetime | None = None
    job_id: UUID | None = None
    last_sync: dict[str, Any] | None = None
    files: int | None = None
    documents: int | None = None
    failed: int | None = None


class SourcePage(Model):
    """A page of sources, newest first."""

    sources: list[Source]
    next_cursor: str | None = None


class QueuedSync(Model):
    """The job that synchronises a source."""

    job_id: UUID
    source_id: UUID


class Job(Model):
    """A background job; `result` says what it has stored once it is done."""

    job_id: UUID
    kind: str
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    document_id: UUID | None = None
    progress: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    created_at: datetime
    finished_at: datetime | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.status not in ("queued", "running")


class JobPage(Model):
    """A page of jobs, newest first."""

    jobs: list[Job]
    next_cursor: str | None = None


class Stats(Model):
    """Numbers of what is stored."""

    documents: int
    chunks: int
    embedding_model: str
    embedding_dimension: int


class Chunk(Model):
    """A chunk of a document."""

    chunk_id: UUID
    document_id: UUID
    chunk_index: int
    content: str
    start_offset: int
    end_offset: int
    heading_path: list[str] = Field(default_factory=list)
    page: int | None = None


class ChunkPage(Model):
    """A page of a document's chunks, in order, and the number of all."""

    chunks: list[Chunk]
    total: int


class DocumentsReindex(Model):
    """The job that cuts documents again, or their number."""

    dry_run: bool
    documents: int
    chunks: int | None = None
    job_id: UUID | None = None


class FacetValue(Model):
    """A value of a key, and the number of documents that have it."""

    value: Any
    documents: int


class Facet(Model):
    """A key of metadata."""

    key: str
    documents: int
    types: dict[str, int]
    distinct: int
    values: list[FacetValue]


class Facets(Model):
    """The keys of metadata, those of most documents first."""

    facets: list[Facet]


class Entity(Model):
    """A person, project or thing."""

    entity_id: UUID
    type: str
    name: str
    aliases: list[str] = Field(default_factory=list)
    role: str | None = None
    description: str | None = None
    facts: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    origin: str = ""


class EntityPage(Model):
    """A page of entities, by name."""

    entities: list[Entity]
    next_cursor: str | None = None


class EntityMatch(Model):
    """An entity that a text names or describes."""

    entity_id: UUID
    name: str
    type: str
    score: float
    matched_by: str
    role: str | None = None
    teams: list[Any] = Field(default_factory=list)


class EntityAnswer(Model):
    """Entities that a text names or describes, best first."""

    entities: list[EntityMatch]


class LinkedDocument(Model):
    """A document that is linked to an entity; `mentions` has the number of mentions by kind."""

    document_id: UUID
    title: str
    uri: str | None = None
    created_at: datetime
    mentions: dict[str, int]
    strength: float


class LinkedDocumentPage(Model):
    """A page of the documents that are linked to an entity, most strongly linked first."""

    documents: list[LinkedDocument]
    next_cursor: str | None = None


class ToolDefinition(Model):
    """A tool as the Model Context Protocol defines it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any] = Field(alias="inputSchema")
    annotations: dict[str, Any] = Field(default_factory=dict)
