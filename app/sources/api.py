"""Serves the endpoints that add, list, synchronise and remove sources."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Path, Query, Request, Response

from app import limits
from app.http.authentication import auditing, auth
from app.http.bodies import bodies
from app.http.problems import problem_examples, problems
from app.requests import cursors
from app.services import Services
from app.sources import sources
from app.sources.models import (
    AddedSourceResult,
    CountedSource,
    QueuedSync,
    SourceChange,
    SourceDeletion,
    SourceInput,
    SourcePage,
)

router = APIRouter(
    prefix="/api/rag", tags=["sources"], route_class=bodies.StrictRoute, responses=problems.AUTHENTICATED
)
SourceKey = Annotated[
    str,
    Path(
        description="Id or name of the source.",
        min_length=1,
        max_length=limits.MAX_SOURCE_NAME,
        openapi_examples={
            "added": {"summary": "The source that the example of `POST /api/rag/sources` adds", "value": "notes"},
            "unknown": {"summary": "Id that does not exist", "value": problem_examples.UNKNOWN_SOURCE},
        },
    ),
]
_ADDED: Any = {
    "folder": {"summary": "The Markdown files of a folder", "value": {"path": "notes", "globs": ["howto/*.md"]}},
}
_WATCHED: Any = {"watched": {"summary": "Watch the folder", "value": {"watch": True}}}
_LOCATION = {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}}


@router.post(
    "/sources",
    operation_id="add_source",
    summary="Add a source",
    status_code=201,
    responses={
        **problems.responses(409, 413, 415, 507),
        200: {"model": AddedSourceResult, "description": "The folder was a source already."},
    },
)
async def add(
    source: Annotated[SourceInput, Body(openapi_examples=_ADDED)],
    response: Response,
    user_id: auth.Writer,
    use: auth.Use,
) -> AddedSourceResult:
    """Keep the documents of a folder, or of a file, in step with it. A job stores them: see `job_id`.

    The folder must be below one of `STEPWELL_SOURCE_ROOTS`, else the response is 403. A folder that is a source with
    the same patterns gets the other options of the request.
    """
    added = await sources.add(source.shape(), user_id, use, confined=not use.is_local)
    response.headers["Location"] = f"/api/rag/jobs/{added.job_id}"
    if added.status != "added":
        response.status_code = 200
    return AddedSourceResult.added(added)


@router.get("/sources", operation_id="list_sources", summary="List sources")
async def page(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Sources per page.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=cursors.MAX_LENGTH, description="`next_cursor` of the previous page.")
    ] = None,
) -> SourcePage:
    """The user's sources, newest first."""
    after = cursors.read(cursor) if cursor else None
    found = await sources.page(user_id, db=use.db, limit=limit + 1, after=after)
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    more = cursors.make(last.created_at, last.source_id) if last else None
    return SourcePage(sources=[CountedSource.of(source) for source in shown], next_cursor=more)


@router.get(
    "/sources/{source_id}", operation_id="get_source", summary="Get a source", responses=problems.responses(404, 409)
)
async def get(source_id: SourceKey, user_id: auth.Searcher, use: auth.ReadUse) -> CountedSource:
    """A source with its numbers, and the files that could not be stored."""
    found = await _id(source_id, user_id, use)
    return CountedSource.of(await sources.get(found, user_id, db=use.db))


@router.patch(
    "/sources/{source_id}",
    operation_id="change_source",
    summary="Change a source",
    responses=problems.responses(404, 409, 413, 415, 507),
)
async def change(
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
    operation_id="sync_source",
    summary="Synchronise a source",
    status_code=202,
    responses={**problems.responses(404, 409, 507), 202: {"description": "A job is queued.", "headers": _LOCATION}},
)
async def sync(source_id: SourceKey, response: Response, user_id: auth.Writer, use: auth.Use) -> QueuedSync:
    """Queue a job that compares the folder with what is stored, and stores, renames and removes what differs."""
    found = await _id(source_id, user_id, use)
    job_id = await sources.sync(found, user_id, db=use.db)
    response.headers["Location"] = f"/api/rag/jobs/{job_id}"
    return QueuedSync(job_id=job_id, source_id=found)


@router.delete(
    "/sources/{source_id}",
    operation_id="delete_source",
    summary="Delete a source",
    responses=problems.responses(404, 409, 507),
)
async def delete(source_id: SourceKey, request: Request, user_id: auth.Writer, use: auth.Use) -> SourceDeletion:
    """Delete a source with its documents, and return what the tables still have of them. The files stay."""
    found = await _id(source_id, user_id, use)
    removed = await sources.delete(found, user_id, use, actor=auditing.actor(request))
    return SourceDeletion.done(removed)


async def _id(key: str, user_id: str, use: Services) -> UUID:
    """The id of the source with this id or name. Raises NotFound, Conflict."""
    (found,) = await sources.find([key], user_id, db=use.db)
    return found
