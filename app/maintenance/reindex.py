"""Cuts stored documents again that were cut or cleaned in another way, and embeds and indexes the new chunks.

Documents are read and embedded in batches, and each is written in one transaction: readers see the old chunks or the
new ones. An interrupted run is continued by the next one, which finds only the documents that remain.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.documents import document_patches, selections
from app.documents.store import documents, documents_to_reindex
from app.documents.store.documents import DocumentSource
from app.documents.store.documents_to_reindex import Cut
from app.documents.storing import document_drafts, document_writes, large_documents
from app.documents.storing.document_writes import ChunkVectors
from app.documents.types import DocumentDraft
from app.entities.linking import gazetteer_cache
from app.jobs.workers import JobKind, Run
from app.query import model_replacement
from app.services import ChunkingOptions, Services
from app.text.words import cleaning

log = logging.getLogger(__name__)

Which = Literal["outdated", "marked", "every"]
PAGE = 500
"""Documents that are listed at once."""
BATCH_CHARACTERS = 38_400
"""Text of the documents that are embedded together: about 64 chunks."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was done so far: documents compared, documents cut again, and chunks embedded."""

    compared: int = 0
    cut: int = 0
    embedded: int = 0

    def __add__(self, other: Reindexed) -> Reindexed:
        return Reindexed(self.compared + other.compared, self.cut + other.cut, self.embedded + other.embedded)


@dataclass(frozen=True, slots=True)
class _Recut:
    """A stored document with its new chunks; `same` if they are the stored ones."""

    source: DocumentSource
    draft: DocumentDraft
    same: bool


async def count(user_id: str, options: ChunkingOptions, *, db: Database, every: bool = False) -> int:
    """How many of a user's documents were cut with other options or by other rules; with `every` all of them."""
    async with db.reading(user_id) as reading:
        return await documents_to_reindex.count(reading, "every" if every else _cut(options))


async def warn_of_stale(owner: Database, _services: Services | None) -> None:
    """Log after an upgrade that documents were stored by the rules of an earlier version."""
    async with owner.shared() as shared:
        if await documents_to_reindex.are_stale(shared, cleaning=cleaning.VERSION):
            log.warning("documents of an earlier version: `stepwell reindex` lets searches find all their words")


async def request(filters: Filters, user_id: str, *, db: Database) -> tuple[UUID | None, int]:
    """Mark the documents that pass the filters, and queue a job that compares them; returns its id and their number.

    Nothing is queued if no document passes. Documents that were marked by a request that failed are compared by the
    next job.
    """
    total = 0
    async for page in selections.pages(filters, user_id, db=db):
        async with db.locking(user_id) as writing:
            await documents_to_reindex.mark(writing, page)
        total += len(page)
    if not total:
        return None, 0
    async with db.writing(user_id) as writing:
        return await KIND.add(writing, {}), total


async def _run_job(job_run: Run) -> int:
    """Compare the marked documents; returns their number."""
    user_id, db = job_run.user_id, job_run.db
    before = Reindexed(*(job_run.job.progress.get(name, 0) for name in ("done", "cut", "embedded")))
    async with db.reading(user_id) as reading:
        total = before.compared + await documents_to_reindex.count(reading, "marked")
    done = before
    async for now in run(user_id, job_run.services, which="marked"):
        done = before + now
        progress = {"step": "cut", "unit": "documents", "done": done.compared, "total": max(total, done.compared)}
        async with db.shared() as shared:
            await job_run.advance(shared, **progress, cut=done.cut, embedded=done.embedded)
    async with db.shared() as shared:
        await job_run.finish(shared, documents=done.compared, cut=done.cut, embedded=done.embedded)
    return done.compared


KIND = JobKind("reindex_documents", _run_job, queue="reindexing")


async def run(user_id: str, services: Services, *, which: Which = "outdated") -> AsyncIterator[Reindexed]:
    """Cut a user's documents again, and yield the progress after each batch.

    `which`: those that were cut with other options, those that `request` has marked, or every document.

    A document that is changed meanwhile is left as the change has stored it, and compared again if the change has kept
    its chunks. Raises ProviderError, DatabaseUnavailable, DiskFull; batches that were yielded are stored.
    """
    done = Reindexed()
    for listed in (which, "outdated" if which == "every" else which):
        async for batch in _batches(user_id, services, listed):
            store = partial(_store_batch, batch, user_id, services)
            done += await model_replacement.run(services.embedder, services.db, store)
            yield done


async def _batches(user_id: str, services: Services, which: Which) -> AsyncIterator[list[_Recut]]:
    """The documents cut again, in groups of about BATCH_CHARACTERS."""
    batch: list[_Recut] = []
    characters = 0
    async for document_id in _ids(user_id, services, which):
        recut = await _cut_again(document_id, user_id, services)
        if recut is None:
            continue
        batch.append(recut)
        characters += len(recut.draft.content)
        if characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


async def _ids(user_id: str, services: Services, which: Which) -> AsyncIterator[UUID]:
    after, listed = None, _cut(services.chunking_options) if which == "outdated" else which
    while True:
        async with services.db.reading(user_id) as reading:
            page = await documents_to_reindex.page(reading, listed, after=after, limit=PAGE)
        for document_id in page:
            yield document_id
        if len(page) < PAGE:
            return
        after = page[-1]


async def _cut_again(document_id: UUID, user_id: str, services: Services) -> _Recut | None:
    """The document cut again, compared with its stored chunks; None if it has been deleted."""
    try:
        async with services.db.reading(user_id) as reading:
            source = await documents.source(reading, document_id)
            stored = await documents_to_reindex.passages(reading, document_id)
            await gazetteer_cache.current(reading)
    except errors.NotFound:
        return None
    document = document_patches.clean_document(source)
    if source.cleaning_version != cleaning.VERSION:
        document = await offload.run_stoppable(len(document.content), partial(document_drafts.clean_again, document))
    draft = document_drafts.hash_document(document)
    cut = partial(document_drafts.cut, draft, model=services.embedder.model, options=services.chunking_options)
    draft = await offload.run_stoppable(len(draft.content), cut)
    new = [(chunk.passage.start, chunk.passage.end, chunk.embedding_key) for chunk in draft.chunks]
    kept = (draft.content, draft.config) == (source.document.content, source.document.language)
    # Another version may index other words of the same text, of its title or of the name of its file.
    same = stored == new and kept and source.cleaning_version == cleaning.VERSION
    return _Recut(source, draft, same=same)


async def _store_batch(batch: Sequence[_Recut], user_id: str, services: Services) -> Reindexed:
    changed = [one.draft for one in batch if not one.same and not large_documents.needs_job(one.draft)]
    found = await document_writes.find_vectors(document_writes.texts(changed), user_id, services)
    cut = [await _store(one, user_id, services, found) for one in batch]
    return Reindexed(len(batch), sum(cut), len(found.computed))


async def _store(recut: _Recut, user_id: str, services: Services, found: ChunkVectors) -> bool:
    """Write the new chunks of a document, or record that they are the stored ones; whether chunks were written."""
    source = recut.source
    options = services.chunking_options
    if recut.draft.content == source.document.content:  # the language model has been asked about the text already
        options = dataclasses.replace(options, llm_entities=False)
    try:
        if large_documents.needs_job(recut.draft) and not recut.same:
            uncut = dataclasses.replace(recut.draft, chunks=())
            queued = await large_documents.queue_change(uncut, user_id, services, source=source)
            if queued is None:
                return False
            return (await large_documents.settle(queued, user_id, services)).status == "replaced"
        async with services.db.writing(user_id) as writing:
            if recut.same:
                await documents_to_reindex.record(writing, source, _cut(options))
                return False
            return await document_writes.change(writing, source, recut.draft, found, options)
    except (errors.NotFound, errors.Conflict):  # deleted, or another document has the text as it is cleaned now
        return False


def _cut(options: ChunkingOptions) -> Cut:
    return Cut(options.target, options.overlap, cleaning.VERSION)
