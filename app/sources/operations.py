"""Adds, lists and removes sources, and queues the jobs that synchronise them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app import errors
from app.database.filter_types import Filters
from app.database.transactions import Database, Writing, retry_read
from app.documents import selections
from app.documents.files import folders
from app.documents.store import staged_documents
from app.documents.types import RowCounts
from app.jobs import store as jobs
from app.services import Services
from app.sources import source_roots, source_scan, source_sync, store
from app.sources.types import EVERYTHING, Source, SourceDraft, SourceRoots, SourceStatus
from app.text import uris

MAX_SOURCES = 1_000
MAX_FAILURES = 200


@dataclass(frozen=True, slots=True)
class AddedSource:
    """What became of a request to add a source, and the job that synchronises it."""

    source: Source
    status: SourceStatus
    job_id: UUID


async def add(draft: SourceDraft, user_id: str, services: Services) -> AddedSource:
    """Store a source, or change the one with the same folder and patterns, and queue a job that synchronises it.

    The path of the draft names a folder or a file. A source without a name takes its folder's name, with a number if
    another source has it. A confined folder must be below the user's roots, now and whenever it is synchronised.
    Raises `folder_not_allowed`, BadRequest naming the field, and Conflict for too many sources or a name in use.
    """
    if draft.confined:
        folder, name = source_roots.allowed(draft.path, user_id, services.option(SourceRoots))
    else:
        folder, name = source_roots.any_folder(draft.path)
    if folders.is_in_database(folder):
        raise errors.BadRequest("The folder belongs to a Postgres server: choose one with documents.", field="path")
    patterns: Sequence[str] = draft.globs
    if name is not None:
        if draft.globs != EVERYTHING:
            raise errors.BadRequest("Leave out the patterns: the path is that of a file.", field="globs")
        patterns = [source_scan.literal(name)]
    draft = replace(draft, path=str(folder), globs=source_scan.check_globs(patterns), name=_tidy(draft.name))
    async with services.db.locking(user_id) as writing:
        known = await store.find(writing, path=draft.path, globs=draft.globs)
        taken = await store.names(writing)
        status: SourceStatus = "added"
        draft = _named(draft, known, taken)
        if known is None:
            if len(taken) >= MAX_SOURCES:
                raise errors.Conflict(f"A user has at most {MAX_SOURCES:,} sources.")
            source_id = await store.add(writing, draft)
        else:
            source_id, status = known.source_id, "unchanged"
            if known.draft != draft:
                status, reread = "changed", known.draft.text_field != draft.text_field
                await store.change(writing, source_id, draft, reread=reread)
        job_id = await _enqueue(writing, source_id)
        return AddedSource(await store.get(writing, source_id), status, job_id)


def _named(draft: SourceDraft, known: Source | None, taken: Mapping[UUID, str]) -> SourceDraft:
    """The draft with a name that no other source has. Raises Conflict where another one has the requested name."""
    others = {name.casefold() for source_id, name in taken.items() if known is None or source_id != known.source_id}
    if draft.name is not None:
        if draft.name.casefold() in others:
            raise errors.Conflict("Another source has this name: choose another one, or change that source.")
        return draft
    if known is not None:
        return replace(draft, name=known.draft.name)
    numbered = (f"{draft.folder_name} ({number})" for number in itertools.count(2))
    free = next(name for name in itertools.chain([draft.folder_name], numbered) if name.casefold() not in others)
    return replace(draft, name=free)


@retry_read
async def find(keys: Sequence[str], user_id: str, *, db: Database) -> list[UUID]:
    """The ids of sources, each given by its id, its name in any case, or the path or URI of its folder.

    Raises NotFound, and Conflict if several sources have the same name or folder.
    """
    async with db.primary.reading(user_id) as reading:
        drafts = await store.drafts(reading)
    return [_one_of(drafts, key) for key in keys]


def _one_of(drafts: Mapping[UUID, SourceDraft], key: str) -> UUID:
    found = [source_id for source_id, draft in drafts.items() if key in (str(source_id), draft.shown_name)]
    found = found or [one for one, draft in drafts.items() if draft.shown_name.casefold() == key.casefold()]
    path = uris.compose(uris.show(key).rstrip("/"))
    found = found or [one for one, draft in drafts.items() if path and uris.compose(draft.path) == path]
    if len(found) > 1:
        raise errors.Conflict("Several sources have this name or folder: use the id of one.")
    if not found:
        raise errors.NotFound(f"No such source: {key}. The list of sources names them.")
    return found[0]


async def sync(source_id: UUID, user_id: str, *, db: Database) -> UUID:
    """Queue a job that synchronises a source, unless one waits; returns its id. Raises NotFound."""
    async with db.writing(user_id) as writing:
        await writing.hold()
        await store.get(writing, source_id)
        return await _enqueue(writing, source_id)


async def watch(source_id: UUID, user_id: str, *, db: Database, watched: bool) -> None:
    """Set whether the folder of a source is watched. Raises NotFound."""
    async with db.writing(user_id) as writing:
        await writing.hold()
        source = await store.get(writing, source_id)
        await store.change(writing, source_id, replace(source.draft, watch=watched), reread=False)


@retry_read
async def get(source_id: UUID, user_id: str, *, db: Database) -> Source:
    """One source with its numbers and failures. Raises NotFound."""
    async with db.primary.reading(user_id) as reading:
        found = await store.page(reading, source_id=source_id, limit=1)
        if not found:
            raise errors.NotFound("No such source.")
        return replace(found[0], failures=await store.failures(reading, source_id=source_id, limit=MAX_FAILURES))


@retry_read
async def page(user_id: str, *, db: Database, limit: int, after: tuple[datetime, UUID] | None = None) -> list[Source]:
    """The user's sources with their numbers, newest first."""
    async with db.primary.reading(user_id) as reading:
        return await store.page(reading, limit=limit, after=after)


async def delete(source_id: UUID, user_id: str, services: Services, *, actor: str) -> RowCounts:
    """Remove a source with its documents, as `selections.delete` does; its jobs are cancelled. Raises NotFound.

    Its folder is not watched from the first transaction on, so that an interrupted deletion is not undone.
    """
    async with services.db.locking(user_id) as writing:
        source = await store.get(writing, source_id)
        await store.change(writing, source_id, replace(source.draft, watch=False), reread=False)
        await _cancel_jobs(writing, source_id)
    only = Filters(source_ids=(source_id,))
    total = RowCounts()
    while True:  # a job that was running may have stored some documents meanwhile
        total += await selections.delete(only, user_id, db=services.db, actor=actor)
        async with services.db.locking(user_id) as writing:
            if not await store.has_documents(writing, source_id):
                await _cancel_jobs(writing, source_id)  # another request may have queued one meanwhile
                await store.delete(writing, source_id)
                await jobs.forget_files(writing, source_sync.KIND.name, source_id)
                return total


async def _cancel_jobs(writing: Writing, source_id: UUID) -> None:
    for job_id in await jobs.open_of_source(writing, source_sync.KIND.name, source_id):
        await jobs.cancel(writing, job_id)
    await staged_documents.cancel_of_source(writing, source_id)


async def _enqueue(writing: Writing, source_id: UUID) -> UUID:
    """The source's waiting job, or a new one. A running job does not count: it may have passed what has changed."""
    kind = source_sync.KIND
    waiting = await jobs.open_of_source(writing, kind.name, source_id, only_queued=True)
    job_id = waiting[0] if waiting else await kind.add(writing, {"source_id": str(source_id)})
    await store.set_job(writing, source_id, job_id)
    return job_id


def _tidy(name: str | None) -> str | None:
    """A name with single spaces between words. Raises BadRequest if it is blank, not printable, or an id."""
    if name is None:
        return None
    tidy = " ".join(name.split())
    if not tidy.isprintable() or not tidy:
        raise errors.BadRequest("Must have a visible character and no control characters.", field="name")
    with suppress(ValueError):
        UUID(tidy)
        raise errors.BadRequest("Must not be an id.", field="name")
    return tidy
