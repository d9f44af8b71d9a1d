"""Defines the request and response models of documents."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasGenerator, BaseModel, ConfigDict, Field

from app import errors, limits
from app.documents.types import Upload
from app.enums import LeftOutReason, StoreStatus
from app.http.responses import Response, ShownUri
from app.requests import field_types
from app.text.structure import metadata_json

MAX_DOCUMENTS = 500


Title = Annotated[str, Field(max_length=limits.MAX_TITLE)]
Uri = Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)]
Language = Annotated[str, Field(max_length=40)]
"""The types of the fields that documents, forms and changes of documents share."""


class DocumentInput(field_types.WireModel):
    """A document to store: plain text or Markdown, optionally with YAML frontmatter."""

    body_may_be_list = True

    content: str = Field(
        description="Text of the document; blank if it is a title alone.",
        examples=["# Lime mortar\n\nBelow the third landing we use lime, never cement."],
    )
    title: Title | None = Field(None, description="Title; by default that of the frontmatter, else the first heading.")
    uri: Uri | None = Field(
        None, description="Identifier: a document with the same URI is replaced. By default the text identifies it."
    )
    metadata: field_types.Metadata = Field(default_factory=dict, description="JSON object that searches can filter by.")
    language: Language | None = Field(
        None,
        description="BCP 47 tag, ISO 639 code or name of the language, such as de-AT, ger or Deutsch; by default it "
        "is detected. Languages without a stemmer are indexed without stemming.",
    )
    created_at: field_types.Moment | None = Field(None, description="Creation time; default: the stored one, else now.")

    def shape(self) -> Upload:
        """The document as a core type."""
        return Upload(**dict(self))


class DocumentChange(field_types.WireModel):
    """The fields to change, as a JSON merge patch (RFC 7396): omitted fields keep their value."""

    null_is_default = False

    content: field_types.NotNull[str] = Field(
        None, description="New text; values of its frontmatter are added to the metadata. Blank: the title alone."
    )
    title: Title | None = Field(None, description="New title; null: the first heading, else the file's name.")
    uri: Uri | None = Field(None, description="New URI; null: the text identifies the document.")
    metadata: field_types.Metadata | None = Field(
        None, description="Changes of the metadata: null removes a key, objects are merged; null removes all metadata."
    )
    language: Language | None = Field(None, description="New language, as in `POST`; null: it is detected.")
    created_at: field_types.NotNull[field_types.Moment] = Field(None, description="New creation time.")

    def shape(self) -> dict[str, Any]:
        """The fields that the request contains, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class FileFields(field_types.WireModel):
    """The fields that apply to the documents of a sent or fetched file."""

    title: Title | None = Field(
        None, description="Title of the one file; by default its own, such as its first heading, else its name."
    )
    metadata: field_types.Metadata | None = Field(
        None, description="JSON object that searches can filter by, added to the metadata of every file."
    )
    language: Language | None = Field(None, description="BCP 47 tag, ISO 639 code or name of every file's language.")
    text_field: Title | None = Field(
        None,
        description="Column of CSV files and sheets, or field of JSON records, that holds the text; the others become "
        "metadata. By default `text`, `content` or `body` if there is one, else all columns are the text.",
    )

    def apply_to(self, upload: Upload) -> Upload:
        """A copy of a document of the file with these fields."""
        metadata, problems = metadata_json.join(upload.metadata, self.metadata or {})
        warnings = (*upload.warnings, *problems)
        title, language = self.title or upload.title, self.language or upload.language
        return dataclasses.replace(upload, title=title, metadata=metadata, language=language, warnings=warnings)


class DocumentForm(FileFields):
    """The text fields of a form with files."""

    uri: list[Uri] | None = Field(
        None, description="URI of each file, in their order; by default its name, or its relative path if one is sent."
    )

    @classmethod
    def form_schemas(cls) -> dict[str, Any]:
        """The JSON Schema of each field as sent: a text. The text of metadata is JSON."""
        properties = cls.model_json_schema()["properties"]
        schemas = {name: {**one["anyOf"][0], "description": one["description"]} for name, one in properties.items()}
        schemas["metadata"] = {
            "type": "string",
            "contentMediaType": "application/json",
            "description": schemas["metadata"]["description"],
        }
        return schemas


class PageInput(FileFields):
    """A page or file to fetch. Its address becomes the URI of its document."""

    url: Uri = Field(
        description="Address of a page or file, http or https, on a host that STEPWELL_FETCH_HOSTS allows.",
        examples=["https://docs.example.com/lime.html"],
    )


@dataclasses.dataclass(frozen=True, slots=True)
class RefusedItem:
    """A document of a list or a form that cannot be stored, and its URI if it has one.

    `left_out` is the reason if a file of an archive is left out and not refused.
    """

    error: errors.StepwellError
    uri: str | None = None
    left_out: LeftOutReason | None = None


class DocumentResult(Response):
    """The result of storing a document."""

    document_id: UUID = Field(description="Id of the document.")
    status: StoreStatus = Field(
        description="What became of the document: `changed` by a PATCH, `queued` if a job stores it."
    )
    uri: ShownUri | None = Field(description="URI of the document; of a file its path.")
    title: str = Field(description="Title of the document.")
    chunk_count: int = Field(description="Number of its chunks; 0 while it is queued.")
    embedded: int = Field(description="Number of chunks that were embedded; the others reuse stored vectors.")
    warnings: list[str] = Field(description="Problems that did not prevent storing, such as invalid frontmatter.")
    job_id: UUID | None = Field(None, description="Job that stores a `queued` document; null otherwise.")


class DocumentFailure(Response):
    """A document of a list that was not stored."""

    index: int = Field(description="Index of the document, or of its file, in the request, from 0.")
    uri: ShownUri | None = Field(description="URI of the document; of a file its path.")
    field: str | None = Field(description="Path of the wrong field in the document; null if no field is wrong.")
    code: str = Field(description="Stable code of the error.")
    detail: str = Field(validation_alias="message", description="What is wrong and how to fix it.")
    left_out: LeftOutReason | None = Field(
        description="Why a file of an archive is left out, as in a folder; null if it is refused."
    )


class DocumentResultList(BaseModel):
    """The result of storing several documents."""

    documents: list[DocumentResult] = Field(description="Documents that are stored, in the order of the request.")
    failed: list[DocumentFailure] = Field(description="Documents that were not stored.")
    added: int = Field(description="Number of new documents.")
    replaced: int = Field(description="Number of documents that replaced an earlier version.")
    unchanged: int = Field(description="Number of documents that were stored already.")
    queued: int = Field(description="Number of documents that jobs store.")


class StoredDocument(Response):
    """A stored document."""

    document_id: UUID = Field(description="Id of the document.")
    source_id: UUID | None = Field(description="Id of the source it was read from; null if it was uploaded.")
    uri: ShownUri | None = Field(description="URI of the document; of a file its path.")
    title: str = Field(description="Title of the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")
    language: str = Field(description="Postgres text search configuration that indexes it.")
    content_hash: str = Field(description="SHA-256 of the cleaned text, in hexadecimal.")
    chunk_count: int = Field(description="Number of its chunks.")
    created_at: datetime = Field(description="Creation time given with the document, else time of its first upload.")
    updated_at: datetime = Field(description="Time of its last change. Changes become visible in this order.")
    content: str | None = Field(
        None,
        description="The cleaned text, in which offsets of chunks count code points. In listings null, but for a "
        "document without title and URI the first 200 code points, which name it.",
    )
    markdown: bool | None = Field(None, description="Whether the text is Markdown; null in listings.")


class DocumentPage(BaseModel):
    """A page of documents, newest first."""

    documents: list[StoredDocument] = Field(description="Documents of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


class StoredChunk(Response):
    """A chunk of a document."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    chunk_index: int = Field(description="Index of the chunk in its document, from 0.")
    content: str = Field(
        description="Text of the chunk. A chunk that begins inside a table has the table's header row before it, which "
        "its offsets do not cover."
    )
    start_offset: int = Field(description="Offset of its first code point in the document's text.")
    end_offset: int = Field(description="Offset of the code point after its last.")
    heading_path: list[str] = Field(description="Headings above the chunk, outermost first.")
    page: int | None = Field(
        description="Page of a PDF or slide on which the chunk begins, from 1; null for documents without pages."
    )


class ChunkPage(BaseModel):
    """A page of a document's chunks, in order."""

    chunks: list[StoredChunk] = Field(description="Chunks of the page.")
    total: int = Field(description="Number of chunks of the document.")


def _count(name: str) -> str:
    return name.removesuffix("_deleted")


class DocumentDeletion(Response):
    """Numbers of deleted rows."""

    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=_count))

    documents_deleted: int = Field(description="Number of deleted documents.")
    chunks_deleted: int = Field(description="Number of deleted chunks.")
    vectors_deleted: int = Field(description="Number of deleted vectors.")


class StorageStats(Response):
    """Counts of what the user has stored."""

    documents: int = Field(description="Number of documents.")
    chunks: int = Field(description="Number of chunks.")
    vectors: int = Field(description="Number of vectors.")
    tokens: int = Field(description="Number of indexed words in all chunks.", json_schema_extra={"format": "int64"})
    sources: int = Field(description="Number of sources.")
    languages: dict[str, int] = Field(description="Number of chunks per text search configuration.")
    embedding_model: str = Field(description="Model that computed the vectors.")
    embedding_dimension: int = Field(description="Numbers per vector.")
    calibrated_at: datetime | None = Field(
        description="When relevance was calibrated on the user's documents (`stepwell calibrate`); null if it was not."
    )
