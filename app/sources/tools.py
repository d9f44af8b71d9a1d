"""Defines the tools that list, add and synchronise sources."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import Annotated
from uuid import UUID

from pydantic import Field

from app import limits
from app.jobs import operations as job_operations
from app.sources import operations as sources
from app.sources.types import COUNTED, EVERYTHING, SourceDraft
from app.tools import NOTICE, InSeconds, ToolArguments, ToolContext, ToolResult, clamped, tool

MAX_FAILURES = 20
_WAIT = "Seconds to wait for the files to be stored; the work goes on if it takes longer."


class ListSourcesArguments(ToolArguments):
    """Arguments of a listing of sources."""

    limit: Annotated[int, *clamped(1, limits.MAX_LISTED_BY_TOOL)] = Field(50, description="Maximum number of sources.")


class AddSourceArguments(ToolArguments):
    """Arguments for adding a source."""

    path: Annotated[str, Field(min_length=1, max_length=limits.MAX_PATH)] = Field(
        description="Path of a folder or file, absolute or relative to an allowed folder."
    )
    globs: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=limits.MAX_GLOB)]],
        Field(min_length=1, max_length=limits.MAX_GLOBS),
    ] = Field(
        default_factory=lambda: list(EVERYTHING),
        description="Patterns of relative paths, one of which a file must match; ** is any folders. By default all.",
    )
    name: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)] | None = Field(
        None, description="Name of the source; by default that of the folder."
    )
    watch: bool = Field(False, description="true: keep the documents in step with later changes in the folder.")
    wait_s: Annotated[int, *clamped(0, 30)] = Field(10, description=_WAIT)


class SyncSourceArguments(ToolArguments):
    """Arguments for synchronising a source."""

    source_id: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)] = Field(
        description="Id or name of the source, from list_sources."
    )
    wait_s: Annotated[int, *clamped(0, 30)] = Field(10, description=_WAIT)


class ToolSource(ToolResult):
    """A source of a listing."""

    source_id: UUID = Field(description="Id of the source.")
    name: str = Field(description="Name of the source.")
    path: str = Field(description="Folder of the source.")
    globs: list[str] = Field(description="Patterns of its files.")
    watch: bool = Field(description="Whether changes in the folder are stored by themselves.")
    files: int = Field(description="Number of its files that are stored.")
    documents: int = Field(description="Number of documents that come from them.")
    failed: int = Field(description="Number of its files that could not be stored.")
    synced_at: Annotated[str | None, InSeconds] = Field(
        None, description="When it was last synchronised; absent before."
    )
    error: str | None = Field(None, description="Code of the error of its latest job; absent if there is none.")


class SourceList(ToolResult):
    """Sources, newest first."""

    sources: list[ToolSource] = Field(description="Sources, newest first.")


class ToolFileFailure(ToolResult):
    """A file that could not be stored."""

    path: str = Field(description="Path in the folder.")
    reason: str = Field(description="Why it could not be stored.")


class SourceSynced(ToolResult):
    """What became of a request to synchronise a source; counts are of files, and absent until the job is done."""

    notice: str = Field(NOTICE, description="How to treat the texts.")
    source_id: UUID = Field(description="Id of the source.")
    job_id: UUID = Field(description="Job that synchronises it.")
    status: str = Field(description="State of the job: queued, running, done, failed or cancelled.")
    added: int | None = Field(None, description="New files.")
    replaced: int | None = Field(None, description="Files with new content.")
    renamed: int | None = Field(None, description="Files with another path and the same content.")
    removed: int | None = Field(None, description="Files that were gone.")
    unchanged: int | None = Field(None, description="Files that were stored already.")
    failed: int | None = Field(None, description="Files that could not be stored.")
    failures: list[ToolFileFailure] | None = Field(None, description="The first of them, with the reasons.")
    error: str | None = Field(None, description="Code of the failure of the job.")


async def list_sources(given: ListSourcesArguments, context: ToolContext) -> SourceList:
    """The user's sources."""
    found = await sources.page(context.user_id, db=context.services.db, limit=given.limit)
    shown = [ToolSource.show(one, path=one.draft.path, globs=one.draft.globs, watch=one.draft.watch) for one in found]
    return SourceList(sources=shown)


async def add_source(given: AddSourceArguments, context: ToolContext) -> SourceSynced:
    """Add a folder and store its files. Raises `folder_not_allowed`, BadRequest."""
    request = SourceDraft(given.path, tuple(given.globs), watch=given.watch, name=given.name)
    added = await sources.add(request, context.user_id, context.services)
    return await _synced(added.source.source_id, added.job_id, given.wait_s, context)


async def sync_source(given: SyncSourceArguments, context: ToolContext) -> SourceSynced:
    """Synchronise a source with its folder. Raises NotFound."""
    db = context.services.db
    (source_id,) = await sources.find([given.source_id], context.user_id, db=db)
    job_id = await sources.sync(source_id, context.user_id, db=db)
    return await _synced(source_id, job_id, given.wait_s, context)


async def _synced(source_id: UUID, job_id: UUID, wait_s: int, context: ToolContext) -> SourceSynced:
    """The state of a job once it has ended, after `wait_s` seconds at most."""
    db = context.services.db
    state = await job_operations.get(job_id, context.user_id, db=db)
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s), aclosing(job_operations.follow(state, context.user_id, db=db)) as states:
            async for now in states:
                state = now or state
    counts = {name: state.result.get(name) for name in COUNTED}
    named = state.result.get("failures", ())[:MAX_FAILURES] if context.holds("search") else ()
    failed = [ToolFileFailure(**failure) for failure in named]
    return SourceSynced(
        source_id=source_id, job_id=job_id, status=state.status, **counts, failures=failed or None, error=state.error
    )


TOOLS = (
    tool(
        list_sources,
        "List sources",
        "List the folders whose files are kept as documents, with the numbers of their files and documents.",
    ),
    tool(
        add_source,
        "Add a folder",
        "Store the files of a folder or a file on the machine of the service, and keep them as a source that "
        "sync_source compares again. Only folders that the operator allows can be added. Add only what the user asked "
        "for.",
        scope="write",
    ),
    tool(
        sync_source,
        "Synchronise a folder",
        "Compare a source with its folder, and store, rename and remove documents so that they are those of its files "
        "now. Use it when files have changed and the source is not watched.",
        scope="write",
    ),
)
