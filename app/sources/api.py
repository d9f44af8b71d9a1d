"""Serves the endpoints that add, list, synchronise and remove sources."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Path, Query, Request
from fastapi import Response as HttpResponse
from pydantic import AliasPath, BaseModel, Field

from app import limits
from app.documents.api.document_models import DocumentDeletion
from app.documents.files import left_out_rules
from app.http import auth, bodies, parameters, problems
from app.http.responses import NoneIfEmpty, Response
from app.requests import cursors, field_types
from app.services import Services
from app.sources import operations as sources
from app.sources.types import EVERYTHING, SourceDraft, SourceStatus


class SourceInput(field_types.WireModel):
    """A folder or a file to synchronise: its documents follow its changes."""

    path: Annotated[str, Field(min_length=1, max_length=limits.MAX_PATH)] = Field(
        description="Path of the folder or file; a relative one is looked up in the allowed folders.",
        examples=["notes"],
    )
    globs: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=limits.MAX_GLOB)]],
        *field_types.at_most(limits.MAX_GLOBS, at_least=1),
    ] = Field(
        default_factory=lambda: list(EVERYTHING),
        description="Patterns of relative paths. A file must match one of them: `*.md` for files directly in the "
        "folder; `**` stands for folders at any depth.",
    )
    text_field: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Column of tables, or field of JSON records, that holds the text; by default chosen by name."
    )
    name: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)] | None = Field(
        None, description="Name, unique among your sources; by default that of the folder.", examples=["Project Docs"]
    )
    watch: field_types.Flag = Field(
        False, description="true: synchronise soon after each change of a file in the folder."
    )

    def shape(self, *, confined: bool) -> SourceDraft:
        """The request as a core type."""
        return SourceDraft(self.path, tuple(self.globs), self.text_field, self.watch, confined, self.name)


class SourceChange(field_types.WireModel):
    """Whether to watch the folder of a source."""

    watch: field_types.Flag = Field(description="Whether the folder is watched.")


class LeftOutFiles(Response):
    """Files and folders that were left out for one reason."""

    count: int = Field(description="Number of them; a folder counts once.")
    examples: list[str] = Field(description="The first paths. The path of a folder ends with a slash.")


class SyncResult(Response):
    """The result of a job that synchronised a source, in files."""

    added: int = Field(description="New files.")
    replaced: int = Field(description="Files with new content.")
    renamed: int = Field(description="Files with another path and the same content; nothing was embedded again.")
    removed: int = Field(description="Files that were gone.")
    unchanged: int = Field(description="Files that were stored already.")
    failed: int = Field(description="Files that could not be stored.")
    skipped: int = Field(description="Files and folders that were left out. A folder counts once.")
    left_out: dict[str, LeftOutFiles] = Field(
        default_factory=dict, description="Left-out files by reason: " + ", ".join(left_out_rules.REASONS) + "."
    )
    embedded: int = Field(description="Chunks that were embedded.")


class SourceFailure(Response):
    """A file that could not be stored as it is. The next job reads it again."""

    path: str = Field(description="Path relative to the source's folder.")
    reason: str = Field(description="Why it could not be stored.")


class StoredSource(Response):
    """A source as it is stored."""

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
    """A source with the numbers of its files, documents and failures."""

    files: int = Field(description="Files that are stored.")
    documents: int = Field(description="Documents of these files.")
    failed: int = Field(description="Files that could not be stored as they are.")
    error: str | None = Field(description="Code of the error of the latest job, such as `source_unavailable`.")
    failures: list[SourceFailure] | None = Field(
        None, description="The first 200 failed files with their reasons; null in a listing."
    )


class AddedSourceResult(StoredSource):
    """The source of the folder, whether it is new, and the job that synchronises it."""

    status: SourceStatus = Field(description="Whether the source was new or changed.")


class SourcePage(BaseModel):
    """A page of sources, newest first."""

    sources: list[CountedSource] = Field(description="Sources of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


class QueuedSync(BaseModel):
    """The job that synchronises a source."""

    job_id: UUID = Field(description="Id of the job.")
    source_id: UUID = Field(description="Id of the source.")


class SourceDeletion(DocumentDeletion):
    """The result of deleting a source."""

    sources_deleted: int = Field(description="Number of deleted sources: 1.")


router = bodies.router("sources")
SourceKey = Annotated[
    str,
    Path(
        description="Id or name of the source.",
        min_length=1,
        max_length=limits.MAX_SOURCE_NAME,
        openapi_examples={
            "added": {"summary": "The source that the example of `POST /api/rag/sources` adds", "value": "letters"},
            "unknown": {"summary": "Id that does not exist", "value": "0d6c3a94-7a0e-4c3f-9d5b-6f1f0c8a2e71"},
        },
    ),
]
_ADDED: Any = {"folder": {"summary": "The Markdown files of a folder", "value": {"path": "letters", "globs": ["*.md"]}}}
_WATCHED: Any = {"watched": {"summary": "Watch the folder", "value": {"watch": True}}}
_LOCATION = {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}}


@router.post(
    "/sources",
    summary="Add a source",
    status_code=201,
    responses={
        **problems.responses(409, 413, 415, 507),
        200: {"model": AddedSourceResult, "description": "The folder was a source already."},
    },
)
async def add_source(
    source: Annotated[SourceInput, Body(openapi_examples=_ADDED)],
    request: Request,
    response: HttpResponse,
    user_id: auth.Writer,
    use: auth.Use,
) -> AddedSourceResult:
    """Synchronise the documents of a folder or a file with it. A job stores them: see `job_id`.

    The folder must be below one of `STEPWELL_SOURCE_ROOTS`, else the response is 403. If the folder is already a source
    with the same patterns, the source takes the other options of the request. A key without the scope `search` does not
    see its last synchronisation.
    """
    added = await sources.add(source.shape(confined=not use.is_local), user_id, use)
    response.headers["Location"] = f"/api/rag/jobs/{added.job_id}"
    if added.status != "added":
        response.status_code = 200
    hidden: dict[str, Any] = {} if auth.may_read(request) else {"synced_at": None, "result": None}
    return AddedSourceResult.of(added.source, job_id=added.job_id, status=added.status, **hidden)


@router.get("/sources", summary="List sources")
async def list_sources(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Sources per page.")] = 50,
    cursor: parameters.Cursor = None,
) -> SourcePage:
    """The user's sources, newest first."""
    after = cursors.read(cursor, cursors.moment) if cursor else None
    found = await sources.page(user_id, db=use.db, limit=limit + 1, after=after)
    shown, more = cursors.cut(found, limit, lambda one: cursors.make(one.created_at, one.source_id))
    return SourcePage(sources=[CountedSource.of(source) for source in shown], next_cursor=more)


@router.get("/sources/{source_id}", summary="Get a source", responses=problems.responses(404, 409))
async def get_source(source_id: SourceKey, user_id: auth.Searcher, use: auth.ReadUse) -> CountedSource:
    """A source with its numbers, and the files that could not be stored."""
    found = await _id(source_id, user_id, use)
    return CountedSource.of(await sources.get(found, user_id, db=use.db))


@router.patch("/sources/{source_id}", summary="Change a source", responses=problems.responses(404, 409, 413, 415, 507))
async def change_source(
    source_id: SourceKey,
    changed: Annotated[SourceChange, Body(openapi_examples=_WATCHED)],
    user_id: auth.Changer,
    use: auth.Use,
) -> CountedSource:
    """Set whether the folder of a source is watched."""
    found = await _id(source_id, user_id, use)
    await sources.watch(found, user_id, db=use.db, watched=changed.watch)
    return CountedSource.of(await sources.get(found, user_id, db=use.db))


@router.post(
    "/sources/{source_id}/sync",
    summary="Synchronise a source",
    status_code=202,
    responses={**problems.responses(404, 409, 507), 202: {"description": "A job is queued.", "headers": _LOCATION}},
)
async def sync_source(source_id: SourceKey, response: HttpResponse, user_id: auth.Writer, use: auth.Use) -> QueuedSync:
    """Queue a job that compares the folder with the stored documents, and stores, renames and removes what differs."""
    found = await _id(source_id, user_id, use)
    job_id = await sources.sync(found, user_id, db=use.db)
    response.headers["Location"] = f"/api/rag/jobs/{job_id}"
    return QueuedSync(job_id=job_id, source_id=found)


@router.delete("/sources/{source_id}", summary="Delete a source", responses=problems.responses(404, 409, 507))
async def delete_source(source_id: SourceKey, request: Request, user_id: auth.Writer, use: auth.Use) -> SourceDeletion:
    """Delete a source with its documents, and return how many rows were deleted. The files stay."""
    found = await _id(source_id, user_id, use)
    removed = await sources.delete(found, user_id, use, actor=auth.actor(request))
    return SourceDeletion.of(removed, sources=1)


async def _id(key: str, user_id: str, use: Services) -> UUID:
    """The id of the source with this id or name. Raises NotFound, Conflict."""
    (found,) = await sources.find([key], user_id, db=use.db)
    return found
