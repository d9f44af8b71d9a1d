"""Defines the request and response models of sources."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AliasPath, BaseModel, Field

from app import limits
from app.documents.api.document_models import DocumentDeletion
from app.documents.api.selection_models import RowNumbers
from app.documents.files import left_out
from app.documents.types import SelectionDeletion
from app.http.contract.responses import NoneIfEmpty, Response
from app.kinds import SourceStatus
from app.requests import wire
from app.sources.sources import EVERYTHING, AddedSource, SourceRequest


class SourceInput(wire.WireModel):
    """A folder, or a file, whose documents are kept in step with it."""

    path: Annotated[str, Field(min_length=1, max_length=limits.MAX_PATH)] = Field(
        description="Path of the folder or file; a relative one is looked up in the allowed folders.",
        examples=["notes"],
    )
    globs: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=limits.MAX_GLOB)]],
        *wire.at_most(limits.MAX_GLOBS, at_least=1),
    ] = Field(
        default_factory=lambda: list(EVERYTHING),
        description="Patterns of relative paths, of which a file must match one: `*.md` for files directly in the "
        "folder, `**/*.md` at any depth.",
    )
    text_field: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Column of tables, or field of JSON lines, that holds the text; by default chosen by name."
    )
    name: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)] | None = Field(
        None, description="Name, unique among your sources; by default that of the folder.", examples=["Project Docs"]
    )
    watch: wire.Flag = Field(False, description="true: synchronise soon after each change of a file in the folder.")

    def shape(self) -> SourceRequest:
        """The request as a core type."""
        return SourceRequest(self.path, tuple(self.globs), self.text_field, self.watch, self.name)


class SourceChange(wire.WireModel):
    """A change of a source."""

    watch: wire.Flag = Field(description="Whether the folder is watched.")


class LeftOutFiles(Response):
    """Files and folders that were left out for one reason."""

    count: int = Field(description="Number of them; a folder counts once.")
    examples: list[str] = Field(description="The first paths; those of folders end with a slash.")


class SyncResult(Response):
    """What a job that has synchronised a source has done, in files."""

    added: int = Field(description="New files.")
    replaced: int = Field(description="Files with new content.")
    renamed: int = Field(description="Files with another path and the same content; nothing was embedded again.")
    removed: int = Field(description="Files that were gone.")
    unchanged: int = Field(description="Files that were stored already.")
    failed: int = Field(description="Files that could not be stored.")
    skipped: int = Field(description="Files that were left out, and folders, each counted once.")
    left_out: dict[str, LeftOutFiles] = Field(
        default_factory=dict, description="Why they were, by reason: " + ", ".join(left_out.REASONS) + "."
    )
    embedded: int = Field(description="Chunks that were embedded.")


class SourceFailure(Response):
    """A file that could not be stored as it is; it is read again by the next job."""

    path: str = Field(description="Path relative to the source's folder.")
    reason: str = Field(description="Why it could not be stored.")


class StoredSource(Response):
    """A source."""

    source_id: UUID = Field(description="Id of the source.")
    name: str = Field(description="Name of the source.")
    path: str = Field(validation_alias=AliasPath("draft", "path"), description="Absolute path of its folder.")
    globs: list[str] = Field(validation_alias=AliasPath("draft", "globs"), description="Patterns of its files.")
    text_field: str | None = Field(
        validation_alias=AliasPath("draft", "text_field"),
        description="Field of records that holds their text; null: chosen by name.",
    )
    watch: bool = Field(validation_alias=AliasPath("draft", "watch"), description="Whether its folder is watched.")
    created_at: datetime = Field(description="Time when it was added.")
    synced_at: datetime | None = Field(description="Time when it was last synchronised; null before.")
    job_id: UUID | None = Field(description="Latest job that synchronises it.")
    last_sync: Annotated[SyncResult | None, NoneIfEmpty] = Field(
        validation_alias="result", description="Result of the latest job that is done; null before."
    )


class CountedSource(StoredSource):
    """A source with its numbers."""

    files: int = Field(description="Files that are stored.")
    documents: int = Field(description="Documents that come from them.")
    failed: int = Field(description="Files that could not be stored as they are.")
    failures: list[SourceFailure] | None = Field(
        None, description="The first 200 of them with their reasons; null in a listing."
    )


class AddedSourceResult(StoredSource):
    """A source that was added, and the job that synchronises it."""

    status: SourceStatus = Field(description="Whether the source was new or changed.")

    @classmethod
    def added(cls, added: AddedSource) -> Self:
        """The response model of a core type."""
        stored = StoredSource.of(added.source).model_dump()
        return cls(**{**stored, "job_id": added.job_id}, status=added.status)


class SourcePage(BaseModel):
    """A page of sources, newest first."""

    sources: list[CountedSource] = Field(description="Sources of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


class QueuedSync(BaseModel):
    """The job that synchronises a source."""

    job_id: UUID = Field(description="Id of the job.")
    source_id: UUID = Field(description="Id of the source.")


class SourceDeletion(DocumentDeletion):
    """What the deletion of a source removed."""

    sources_deleted: int = Field(description="Number of deleted sources: 1.")
    remaining: RowNumbers = Field(description="Rows of its documents that the tables still had afterwards: zeros.")

    @classmethod
    def done(cls, result: SelectionDeletion) -> Self:
        """The response to a request that deletes."""
        deleted = DocumentDeletion.of(result.deleted).model_dump()
        return cls(**deleted, sources_deleted=1, remaining=RowNumbers.of(result.remaining))
