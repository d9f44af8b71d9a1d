"""Defines the responses of the service. Fields that a newer service adds are kept as extra attributes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]


class Model(BaseModel):
    """Base of all responses."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)


class Snippet(Model):
    """The sentences of a passage that match best; `text[start:end]` of each pair of `matches` is what matches."""

    text: str
    matches: list[tuple[int, int]]


class Via(Model):
    """The name by which a later hop reached a hit."""

    name: str
    kind: str
    source_chunk_id: UUID | None = None


class ParentEntity(Model):
    """The entity that is linked to a hit's document; without an id there is none."""

    entity_id: UUID | None = None
    parent_entity_score: float
    link_strength: float
    doc_score: float


class Hit(Model):
    """A passage. With `detail: ids` it has its ids, its score and `more` alone."""

    chunk_id: UUID
    document_id: UUID
    chunk_index: int | None = None
    title: str = ""
    uri: str | None = None
    heading_path: list[str] = Field(default_factory=list)
    page: int | None = None
    content: str = ""
    snippet: Snippet | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    score: float
    relevance: float | None = None
    confidence: Confidence | None = None
    rrf_score: float | None = None
    vector_score: float | None = None
    text_score: float | None = None
    hop: int | None = None
    via: Via | None = None
    combined_score: float | None = None
    parent: ParentEntity | None = None
    more: list[Hit] = Field(default_factory=list)
    explain: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The passage, or with `detail: compact` its best sentences."""
        return self.snippet.text if self.snippet else self.content


class SynonymGroup(Model):
    """Words and phrases that stand for one another, or that are expanded to others."""

    terms: list[str]
    expand_to: list[str] = Field(default_factory=list)


class Synonyms(Model):
    """The groups of a user."""

    groups: list[SynonymGroup]


class SynonymCounts(Model):
    """The numbers of groups of synonyms, and of words and phrases in them."""

    groups: int
    terms: int


class Hop(Model):
    """A hop of a search over several hops."""

    hop: int
    query: str
    result_count: int
    extractor: str | None = None
    expanded_terms: list[str] | None = None
    questions: list[str] | None = None
    error: str | None = None


class EntityMatch(Model):
    """An entity that a text names or describes."""

    entity_id: UUID
    name: str
    type: str
    score: float
    matched_by: str
    role: str | None = None
    teams: list[str] = Field(default_factory=list)


class Answer(Model):
    """The answer of a search; `hops`, `search_mode` and `pass1_entities` are those of some kinds of search."""

    results: list[Hit]
    total_results: int
    answerable: float | None = None
    next_cursor: str | None = None
    took_ms: float
    hops: list[Hop] = Field(default_factory=list)
    search_mode: Literal["two_pass", "flat"] | None = None
    pass1_entities: list[EntityMatch] = Field(default_factory=list)
    degraded: list[str] = Field(default_factory=list)
    relaxed: list[str] = Field(default_factory=list)
    hints: list[str] = Field(default_factory=list)
    excluded: list[str] = Field(default_factory=list)
    explain: dict[str, Any] | None = None


class Placement(Model):
    """Where a passage stands in a search; `change` of the request brings it in, a null in it leaves a field out."""

    found: bool
    rank: int | None = None
    kept_out_by: str | None = None
    reason: str
    change: dict[str, Any] | None = None
    legs: dict[str, dict[str, Any]]
    steps: list[dict[str, Any]]
    chunk_id: UUID
    document_id: UUID
    title: str
    uri: str | None = None


class MergedHit(Model):
    """A hit of several lists; `hit` is as it was sent, which fields the others have depends on `detail`."""

    chunk_id: str
    score: float
    combined_score: float | None = None
    hit: dict[str, Any] = Field(default_factory=dict)
    hop: int | None = None
    ranks: dict[str, int] = Field(default_factory=dict)
    parts: dict[str, float] = Field(default_factory=dict)
    explain: dict[str, Any] = Field(default_factory=dict)


class MergedAnswer(Model):
    """Lists of hits in one order."""

    results: list[MergedHit]
    total_results: int | None = None
    merge: str | None = None
    detail: str
    degraded: list[str] = Field(default_factory=list)


class Judgement(Model):
    """What is stored of a judgement: `helpful` is None if it was taken back."""

    document_id: UUID
    helpful: bool | None = None


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
    field: str | None = None
    code: str
    detail: str
    left_out: str | None = None


class DocumentResults(Model):
    """The results of storing several documents."""

    documents: list[DocumentResult]
    failed: list[DocumentFailure] = Field(default_factory=list)
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    queued: int = 0


class Document(Model):
    """A stored document; `content` and `markdown` only if it was read by its id.

    A listed one without title and URI has its first words as `content`.
    """

    document_id: UUID
    uri: str | None = None
    title: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    language: str = ""
    source_id: UUID | None = None
    content_hash: str = ""
    chunk_count: int
    created_at: datetime
    updated_at: datetime | None = None
    content: str | None = None
    markdown: bool | None = None


class DocumentPage(Model):
    """A page of documents, newest first."""

    documents: list[Document]
    next_cursor: str | None = None


class Rows(Model):
    """Numbers of rows that belong to documents."""

    documents: int
    chunks: int
    vectors: int


class DocumentDeletion(Model):
    """The numbers of deleted rows."""

    documents_deleted: int
    chunks_deleted: int
    vectors_deleted: int


class DocumentsDeletion(DocumentDeletion):
    """The numbers of deleted rows; `matched` are those of a dry run."""

    dry_run: bool
    matched: Rows | None = None


class SourceDeletion(DocumentDeletion):
    """The numbers of deleted rows."""

    sources_deleted: int


class SourceFailure(Model):
    """A file that could not be stored as it is."""

    path: str
    reason: str


class BareSource(Model):
    """A folder whose documents are kept in step with it; the job of `job_id` synchronises it."""

    source_id: UUID
    name: str
    path: str
    globs: list[str]
    watch: bool
    text_field: str | None = None
    created_at: datetime
    synced_at: datetime | None = None
    job_id: UUID
    last_sync: dict[str, Any] | None = None


class AddedSource(BareSource):
    """A source that was added, or changed where its folder was one already."""

    status: Literal["added", "changed", "unchanged"]


class Source(BareSource):
    """A source with the numbers of its files and documents; `failures` is None in a listing."""

    files: int
    documents: int
    failed: int
    error: str | None = None
    failures: list[SourceFailure] | None = None


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
    source_id: UUID | None = None
    attempts: int = 0
    progress: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    created_at: datetime
    run_at: datetime | None = None
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
    vectors: int
    sources: int
    tokens: int
    languages: dict[str, int]
    embedding_model: str
    embedding_dimension: int
    calibrated_at: datetime | None = None


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
    members: list[UUID] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    origin: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class EntityPage(Model):
    """A page of entities, by name."""

    entities: list[Entity]
    next_cursor: str | None = None


class EntityLine(Model):
    """What became of an entity of several; `code`, `detail` and `field` say why it was refused."""

    line: int
    status: Literal["added", "updated", "unchanged", "refused"]
    entity_id: UUID | None = None
    code: str | None = None
    detail: str | None = None
    field: str | None = None


class EntityUpserts(Model):
    """What became of several entities, in their order."""

    added: int
    updated: int
    unchanged: int
    refused: int
    lines: list[EntityLine]


class EntityDeletion(Model):
    """The numbers of deleted rows."""

    entities_deleted: int
    mentions_deleted: int


class EntityAnswer(Model):
    """Entities that a text names or describes, best first."""

    entities: list[EntityMatch]
    degraded: list[str] = Field(default_factory=list)
    took_ms: float | None = None


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


class Health(Model):
    """The process answers."""

    status: str
    version: str = ""


class Readiness(Model):
    """Searches can be served; `providers` has the circuit breakers of remote models, `standby` is None without one."""

    status: str
    database: Literal["writable", "read_only", "unavailable"]
    providers: dict[str, str] = Field(default_factory=dict)
    standby: str | None = None
