"""Defines the types of the write path, Upload → CleanDocument → DocumentDraft → Chunk, and the results of writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from app.enums import Json, StoreStatus
from app.text.chunking import Passage


@dataclass(frozen=True, slots=True)
class Upload:
    """A document of a request, as plain text or Markdown.

    If neither the request nor the text has a title, `default_title` is the title. `frontmatter` is false for Markdown
    that was converted from another format. `page_starts` has the offset of each page if the file has pages.
    `table_config` is that of `ExtractedDocument`.
    """

    content: str
    title: str | None = None
    uri: str | None = None
    metadata: Json = field(default_factory=dict)
    language: str | None = None
    created_at: datetime | None = None
    markdown: bool = True
    default_title: str = ""
    frontmatter: bool = True
    page_starts: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    source: SourcePath | None = None
    table_config: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanDocument:
    """A document with cleaned text and resolved attributes that is not cut yet.

    `content` is empty if the document is a title alone. `config` is its text-search configuration. `created_at` is None
    if none was given with the document.
    """

    content: str
    title: str
    uri: str | None
    metadata: Json
    config: str
    created_at: datetime | None
    markdown: bool = True
    page_starts: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    source: SourcePath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft(CleanDocument):
    """A cleaned, chunked and hashed document, complete except for its vectors.

    `chunk_tokens` and `chunk_overlap` are the options with which its chunks were cut.
    """

    identity: bytes
    content_hash: bytes
    attributes_hash: bytes
    chunks: tuple[ChunkDraft, ...] = ()
    chunk_tokens: int = 0
    chunk_overlap: int = 0
    cleaning_version: int = 1

    @property
    def is_large(self) -> bool:
        """Whether a job cuts and stores the document: then it has no chunks."""
        return not self.chunks

    def new_id(self, user_id: str) -> UUID:
        """The id of the document when a user adds it. It depends only on the user and the identity."""
        return uuid5(NAMESPACE_URL, f"urn:stepwell:document:{self.identity.hex()}:{user_id}")


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk without its vector.

    `embedded` is the text for the embedder, `indexed` the text for the text index, analysed with `config`.
    """

    passage: Passage
    embedded: str
    indexed: str
    config: str
    embedding_key: UUID


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document.

    In listings `markdown` is None, and `content` has only the beginning of a document without title and uri, else None.
    """

    document_id: UUID
    source_id: UUID | None
    uri: str | None
    title: str
    metadata: Json
    language: str
    content_hash: str
    chunk_count: int
    created_at: datetime
    updated_at: datetime
    content: str | None = None
    markdown: bool | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk of a listing."""

    chunk_id: UUID
    document_id: UUID
    chunk_index: int
    content: str
    start_offset: int
    end_offset: int
    heading_path: tuple[str, ...]
    page: int | None


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result of one upload; `embedded` is the number of newly embedded chunks.

    If the status is `queued`, the job `job_id` stores the document; its chunks are not counted yet.
    """

    document_id: UUID
    status: StoreStatus
    uri: str | None
    title: str
    chunk_count: int
    embedded: int
    warnings: tuple[str, ...] = ()
    job_id: UUID | None = None

    @classmethod
    def of(
        cls, draft: DocumentDraft, document_id: UUID, status: StoreStatus, *, chunk_count: int, embedded: int = 0
    ) -> IngestResult:
        """The result of storing a draft as a document with this many chunks."""
        return cls(document_id, status, draft.uri, draft.title, chunk_count, embedded, draft.warnings)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Numbers of documents and of their chunks."""

    documents: int = 0
    chunks: int = 0

    @property
    def vectors(self) -> int:
        """The number of vectors: one for each chunk."""
        return self.chunks

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(self.documents + other.documents, self.chunks + other.chunks)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of what one user has stored; `languages` counts chunks by text-search configuration."""

    documents: int
    chunks: int
    vectors: int
    tokens: int
    sources: int
    languages: Mapping[str, int]
    embedding_model: str
    embedding_dimension: int
    calibrated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourcePath:
    """A file of a source, by its path relative to the source's folder, with slashes."""

    source_id: UUID
    path: str
