"""The JSON models of documents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError

from app import errors
from app.api import wire
from app.shapes import Chunk, Document, IngestResult, Upload
from app.text import cleaning

MOST_AT_ONCE = 500
EXAMPLE_DOCUMENT = "7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11"


def _not_blank(given: str) -> str:
    if cleaning.is_blank(given):
        raise PydanticCustomError("blank_content", "Must hold some visible text.")
    return given


class DocumentInput(wire.WireModel):
    """A document: plain text or Markdown, with frontmatter if you like."""

    content: Annotated[str, AfterValidator(_not_blank)] = Field(
        description="The text.", examples=["# Lime mortar\n\nBelow the third landing we use lime, never cement."]
    )
    title: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="Default: the frontmatter's title, else the first heading."
    )
    uri: Annotated[str, Field(min_length=1, max_length=2048)] | None = Field(
        None, description="Its identity: the same uri again replaces it. Without one, its text is its identity."
    )
    metadata: wire.Metadata = Field(default_factory=dict, description="Anything to filter by, as JSON.")
    language: Annotated[str, Field(max_length=40)] | None = Field(
        None, description="Name or ISO 639 code; default English. Unknown languages are indexed word by word."
    )
    created_at: wire.Moment | None = Field(None, description="Default: now.")

    def shape(self) -> Upload:
        """The document as the pipelines take it."""
        return Upload(
            content=self.content,
            title=self.title,
            uri=self.uri,
            metadata=self.metadata,
            language=self.language,
            created_at=self.created_at,
        )


class DocumentResult(BaseModel):
    """What became of one document."""

    document_id: UUID
    status: Literal["added", "replaced", "unchanged"]
    uri: str | None
    title: str
    chunk_count: int
    embedded: int = Field(description="Chunks that had to be embedded; the others' vectors were known.")
    warnings: list[str]

    @classmethod
    def of(cls, stored: IngestResult) -> DocumentResult:
        """As the wire shows it."""
        return cls(**{**_fields(stored), "warnings": list(stored.warnings)})


class DocumentFailure(BaseModel):
    """A document that was not stored."""

    index: int = Field(description="Its place in the request, from 0.")
    uri: str | None
    code: str
    detail: str

    @classmethod
    def of(cls, index: int, error: errors.StepwellError, uri: str | None = None) -> Self:
        """The reason as the wire has it."""
        return cls(index=index, uri=uri, code=error.code, detail=error.message)


class DocumentResultList(BaseModel):
    """What became of several documents."""

    documents: list[DocumentResult]
    failed: list[DocumentFailure]
    added: int
    replaced: int
    unchanged: int


class StoredDocument(BaseModel):
    """A stored document."""

    document_id: UUID
    source_id: UUID | None
    uri: str | None
    title: str
    metadata: dict[str, Any]
    language: str = Field(description="The text-search configuration that indexes it.")
    content_hash: str = Field(description="SHA-256 of the cleaned text.")
    chunk_count: int
    created_at: datetime
    updated_at: datetime
    content: str | None = Field(None, description="The cleaned text; offsets of chunks count its code points.")

    @classmethod
    def of(cls, document: Document) -> StoredDocument:
        """As the wire shows it."""
        return cls(**{**_fields(document), "metadata": dict(document.metadata)})


class DocumentPage(BaseModel):
    """Documents, newest first."""

    documents: list[StoredDocument]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last.")


class StoredChunk(BaseModel):
    """A chunk of a document."""

    chunk_id: UUID
    document_id: UUID
    chunk_index: int
    content: str
    start_offset: int
    end_offset: int
    heading_path: list[str]

    @classmethod
    def of(cls, chunk: Chunk) -> StoredChunk:
        """As the wire shows it."""
        return cls(**{**_fields(chunk), "heading_path": list(chunk.heading_path)})


class ChunkPage(BaseModel):
    """A document's chunks in order."""

    chunks: list[StoredChunk]
    total: int


class DocumentDeletion(BaseModel):
    """What a deletion removed."""

    documents_deleted: int
    chunks_deleted: int
    vectors_deleted: int
    mentions_deleted: int


class StorageStats(BaseModel):
    """What the caller has stored."""

    documents: int
    chunks: int
    vectors: int
    tokens: int
    lexemes: int
    sources: int
    languages: dict[str, int]
    embedding_model: str
    embedding_dimension: int


def _fields(shape: Any) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in shape.__dataclass_fields__}
