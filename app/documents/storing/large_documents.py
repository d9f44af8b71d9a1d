"""Stores large documents as background jobs, in slices. Readers see nothing until the last slice is stored.

`queue` records the document and its job in one transaction. The job cuts, indexes and embeds the document, publishes it
in one step, and queues a job that links it to entities. A later write of the same document cancels the job.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.database import retries
from app.database.transactions import Reading, Transaction, Writing
from app.documents.store import document_puts, document_rows, documents, hidden_chunks, staged_documents, write_checks
from app.documents.store.document_puts import StoredVersion
from app.documents.store.documents import DocumentSource
from app.documents.store.staged_documents import StagedDocument
from app.documents.storing import document_drafts, document_writes
from app.documents.types import ChunkDraft, DocumentDraft, IngestResult
from app.entities.linking import llm_extraction, mention_refresh
from app.jobs import store as jobs
from app.jobs import workers
from app.jobs.store import JobState
from app.jobs.workers import ClaimLost, JobKind, Run
from app.models.protocols import EmbeddingModel
from app.query import model_replacement
from app.services import ChunkingOptions, Services
from app.text.chunking import Passage
from app.text.names import names

LARGE = 1_000_000
"""A job stores a document whose text has more than this many characters."""
MANY_CHUNKS = 3_000
"""Jobs store a document with more chunks than this, and documents beyond so many chunks of a request."""
MOST_CHARACTERS = 50_000_000
CHUNKS = 128
"""Chunks that are staged, embedded or published together. Staging a slice holds the user's lock."""
LEXEMES = 2_000
"""Number of lexemes from whose postings one transaction removes hidden chunks."""
STAGED_ROWS = 2_000
"""Number of staged chunks that one transaction deletes."""
LOCK_S = 30
"""For how many seconds publishing waits for the user's lock. After that, its preparation is lost."""
LOCK_POLL_S = 0.05
CANCELLING_MS = 200
"""If the job's row is locked for longer, another transaction is assumed to be cancelling the job."""
WAIT_S = 0.2


def check_length(characters: int) -> None:
    """Raises BadRequest for a text that is too long to be stored."""
    if characters > MOST_CHARACTERS:
        raise errors.BadRequest(f"Must have at most {MOST_CHARACTERS:,} characters: split the text.", field="content")


def cut_unless_large(draft: DocumentDraft, *, model: EmbeddingModel, options: ChunkingOptions) -> DocumentDraft:
    """Cuts a document into chunks. A large document stays uncut, since its job cuts it. Raises what interrupts it."""
    if len(draft.content) > LARGE:
        return draft
    whole = document_drafts.cut(draft, model=model, options=options)
    return dataclasses.replace(whole, chunks=()) if needs_job(whole) else whole


def needs_job(draft: DocumentDraft) -> bool:
    """Whether a job must store a document after `cut_unless_large`."""
    return not draft.chunks or len(draft.content) > LARGE or len(draft.chunks) > MANY_CHUNKS


async def queue(
    draft: DocumentDraft, user_id: str, services: Services, *, document_id: UUID | None = None
) -> IngestResult:
    """Queue a job that stores a draft without chunks, by default as the document with its identity.

    Nothing is queued if an equal version is stored or being stored. Jobs that would store other versions are cancelled.
    Raises NotFound, Conflict, OutsideOfKey, DatabaseUnavailable.
    """
    async with services.db.locking(user_id, checked=True) as writing:
        target = (await document_puts.targets(writing, [draft], document_id=document_id))[draft.identity]
        known = target.stored
        if known and known.same_as(draft):
            await staged_documents.supersede(writing, document_ids=[known.document_id])
            return IngestResult.of(draft, known.document_id, "unchanged", chunk_count=known.chunk_count)
        if pending := await _pending(writing, draft, document_id):
            return pending
        await staged_documents.supersede(writing, identities=[draft.identity], document_ids=[target.document_id])
        return await _add(writing, target.document_id, draft, services.chunking_options)


async def queue_change(
    draft: DocumentDraft, user_id: str, services: Services, *, source: DocumentSource
) -> IngestResult | None:
    """Queue a job that stores a changed draft without chunks; None if the document has changed since `source` was read.

    Nothing is queued if an equal version is being stored. Raises NotFound, Conflict, DatabaseUnavailable.
    """
    async with services.db.locking(user_id, checked=True) as writing:
        if not await documents.is_current(writing, source):
            return None
        if pending := await _pending(writing, draft, source.document.document_id):
            return pending
        await documents.check_change(writing, source, draft)
        return await _add(writing, source.document.document_id, draft, services.chunking_options)


async def _pending(writing: Writing, draft: DocumentDraft, document_id: UUID | None) -> IngestResult | None:
    """The result of queueing an equal draft earlier, if its job has not ended; with an id, only for that document."""
    for version in await staged_documents.pending(writing, identities=[draft.identity]):
        is_same = (version.content_hash, version.attributes_hash) == (draft.content_hash, draft.attributes_hash)
        if is_same and document_id in (None, version.document_id):
            await write_checks.check_replaced(writing, [], [version.job_id])
            return _queued_result(draft, version.document_id, version.job_id)
    return None


async def _add(writing: Writing, target: UUID, draft: DocumentDraft, options: ChunkingOptions) -> IngestResult:
    cut = dataclasses.replace(draft, chunk_tokens=options.target, chunk_overlap=options.overlap)
    job_id = await KIND.add(writing, {"document_id": str(target)})
    await staged_documents.add(writing, job_id, target, cut)
    return _queued_result(draft, target, job_id)


def _queued_result(draft: DocumentDraft, document_id: UUID, job_id: UUID) -> IngestResult:
    return dataclasses.replace(IngestResult.of(draft, document_id, "queued", chunk_count=0), job_id=job_id)


async def being_stored(versions: Sequence[StoredVersion], user_id: str, services: Services) -> frozenset[UUID]:
    """The ids of the documents that a job will store in another version."""
    # A restricted caller has no privilege on staged versions. They matter only for how a document is written.
    async with services.db.whole.reading(user_id) as reading:
        pending = await staged_documents.pending(reading, document_ids=[version.document_id for version in versions])
    return frozenset(version.document_id for version in pending)


@asynccontextmanager
async def reading_stored(document_id: UUID, user_id: str, services: Services) -> AsyncIterator[Reading]:
    """A transaction that reads a document before a change. Raises Conflict if a job will store its first version."""
    try:
        async with services.db.reading(user_id) as reading:
            yield reading
    except errors.NotFound:
        async with services.db.whole.reading(user_id) as reading:
            is_pending = bool(await staged_documents.pending(reading, document_ids=[document_id]))
        if is_pending:
            async with services.db.writing(user_id, checked=True) as writing:
                pending = await staged_documents.pending(writing, document_ids=[document_id])
                with suppress(errors.OutsideOfKey):  # the caller will not see the document
                    await write_checks.check_replaced(writing, [], [version.job_id for version in pending])
                    staged_documents.check_none(pending)
        raise


async def settle(queued: IngestResult, user_id: str, services: Services, *, retry_s: float = 15.0) -> IngestResult:
    """Run the user's jobs here, or wait for other workers, until the queued document is stored; returns its result.

    A database that is unavailable is asked again for `retry_s`; a job that has failed for this reason is tried again.
    Raises Conflict if the job was cancelled or failed, and what the job raises otherwise.
    """
    if queued.job_id is None:
        return queued
    run = partial(workers.run_next, services, KINDS, user_id=user_id)
    while True:
        try:
            ran = await run()
        except (errors.DatabaseUnavailable, errors.Busy):  # a job may take longer than `retry_s` until it fails
            ran = await retries.while_unavailable(retry_s, run)
        state = await retries.while_unavailable(retry_s, _state, queued.job_id, user_id, services)
        if state is None or state.status in ("failed", "cancelled"):
            raise errors.Conflict("The document was not stored: its job was cancelled or has failed.")
        if state.status == "done" and ran is None:
            counts = {name: state.result[name] for name in ("status", "chunk_count", "embedded")}
            return dataclasses.replace(queued, **counts, job_id=None)
        if ran is None:
            await asyncio.sleep(WAIT_S)


async def _state(job_id: UUID, user_id: str, services: Services) -> JobState | None:
    async with services.db.reading(user_id) as reading:
        return await jobs.get(reading, job_id)


@dataclass(slots=True)
class _Storing:
    """One attempt at a job. `progress` is its stored progress: the step, and the counts of chunks."""

    run: Run
    staged: StagedDocument
    progress: dict[str, Any]

    async def advance(self, db: Transaction, **progress: Any) -> None:
        """Store progress, in the transaction of the work. Raises ClaimLost."""
        self.progress |= progress
        await self.run.advance(db, **self.progress)

    async def stage(self) -> None:
        """Cut the document, and stage the chunks that an earlier attempt has not staged, with their postings.

        The texts to embed and to index are built one slice at a time, so that they are never all in memory.
        """
        draft, db, model = self.staged.draft, self.run.db, self.run.services.embedder.model
        passages = await offload.run_stoppable(len(draft.content), partial(_passages, draft, model))
        async with db.reading(self.run.user_id) as reading:
            done, end = await staged_documents.extent(reading, self.staged.job_id)
        left = [passage for passage in passages if passage.end > end]  # another model may have cut those before
        total = done + len(left)
        for start in range(0, len(left), CHUNKS):
            make = partial(_chunks, left[start : start + CHUNKS], draft, model)
            some = await offload.run_stoppable(offload.LARGE, make)
            async with db.writing(self.run.user_id) as writing:
                await staged_documents.stage(writing, self.staged, some, first_index=done)
                done += len(some)
                await self.advance(writing, step="cut", done=done, total=total)
        async with db.writing(self.run.user_id) as writing:
            await self.advance(writing, step="cut", done=total, total=total, staged=True)

    async def embed(self) -> None:
        """Read or compute the vectors of the staged chunks that have none."""
        user_id, services, draft = self.run.user_id, self.run.services, self.staged.draft
        embedded = partial(document_drafts.embedded_text, draft.title, draft.metadata.get("filename"))
        first = 0
        while True:
            async with services.db.reading(user_id) as reading:
                texts = await staged_documents.texts(reading, self.staged.job_id, first=first, limit=CHUNKS)
            if not texts:
                return
            first, last = texts[0].chunk_index, texts[-1].chunk_index
            wanted = {text.embedding_key: embedded(text.heading_path, text.content) for text in texts}
            found = await document_writes.find_vectors(wanted, user_id, services)
            computed = self.progress.get("embedded", 0) + len(found.computed)
            async with services.db.writing(user_id) as writing:
                job_id, by_key = self.staged.job_id, found.by_key
                await staged_documents.stage_vectors(writing, job_id, first=first, last=last, by_key=by_key)
                await self.advance(writing, step="embed", done=last + 1, embedded=computed)
            first = last + 1

    async def publish(self) -> None:
        """Make the document visible in one transaction. It copies the chunks, then takes the user's lock."""
        staged, total = self.staged, int(self.progress["total"])
        async with self.run.db.preparing(self.run.user_id) as writing:
            added = await staged_documents.begin(writing, staged, lock_s=LOCK_S)
            for first in range(0, total, CHUNKS):
                await staged_documents.copy(writing, staged, first=first, last=first + CHUNKS - 1)
                await self._check_wanted(done=min(first + CHUNKS, total))
            await self._take_lock(writing, done=total)
            await writing.lock()
            other = await document_puts.find(writing, identity=staged.draft.identity)
            if other and other.document_id != staged.document_id:
                raise errors.Conflict("Another document already has this uri or this content.", field="uri")
            await staged_documents.finish(writing, staged, names_version=names.VERSION)
            await mention_refresh.leave(writing, staged.document_id)
            if self.run.services.chunking_options.llm_entities:
                await llm_extraction.enqueue(writing, [staged.document_id])
            result = {"document_id": str(staged.document_id), "status": "added" if added else "replaced"}
            # Chunks that were embedded with a model that was replaced meanwhile are counted once.
            counts = {"chunk_count": total, "embedded": min(total, self.progress.get("embedded", 0))}
            await self.run.finish(writing, **result, **counts)

    async def _take_lock(self, writing: Writing, *, done: int) -> None:
        """Take the user's lock without waiting for it in the database. Raises ClaimLost, Busy.

        A later write may hold the lock and wait for rows of this transaction. A deadlock could then cancel that write.
        """
        for _ in range(int(LOCK_S / LOCK_POLL_S)):
            if await staged_documents.try_lock(writing):
                return
            await self._check_wanted(done=done)
            await asyncio.sleep(LOCK_POLL_S)
        raise errors.Busy("Other changes to the same data are running; the job tries again.")

    async def _check_wanted(self, *, done: int) -> None:
        """Store progress. Raises ClaimLost, also if the transaction of a later write is cancelling the job.

        That transaction waits for rows of this one, so this one must end soon.
        """
        try:
            async with self.run.db.shared() as shared:
                await jobs.limit_lock_wait(shared, CANCELLING_MS)
                await self.advance(shared, step="publish", done=done)
        except errors.Busy as error:
            raise ClaimLost from error


def _passages(draft: DocumentDraft, model: EmbeddingModel) -> list[Passage]:
    offload.check_stopped()
    options = ChunkingOptions(draft.chunk_tokens, draft.chunk_overlap)
    return document_drafts.passages(draft, model=model, options=options)


def _chunks(passages: Sequence[Passage], draft: DocumentDraft, model: EmbeddingModel) -> list[ChunkDraft]:
    offload.check_stopped()
    return [document_drafts.chunk(passage, draft, model=model) for passage in passages]


async def _store(run: Run) -> int:
    """Cut, embed and publish the document of a job; returns the number of its chunks."""
    progress = {"unit": "chunks", **run.job.progress}
    work = partial(_store_with_one_model, run, progress)
    return await model_replacement.run(run.services.embedder, run.db, work)


async def _store_with_one_model(run: Run, progress: dict[str, Any]) -> int:
    """Do what `progress` lacks. It is kept up to date, so that work with the next model continues from it."""
    async with run.db.reading(run.user_id) as reading:
        staged = await staged_documents.get(reading, run.job.job_id)
    if staged is None:
        raise errors.NotFound("The document to store is gone.")
    storing = _Storing(run, staged, progress)
    if not progress.get("staged"):  # a model that was chosen since then might cut in other places
        await storing.stage()
    await storing.embed()
    await storing.publish()
    return int(progress["total"])


async def _remove_postings(run: Run) -> int:
    """Remove the postings of hidden chunks that no job publishes, and the staged rows of ended jobs.

    Returns the number of hidden chunks.
    """
    async with run.db.locking(run.user_id) as writing:
        after: str | None = run.job.progress.get("after", "")
        if await hidden_chunks.take(writing, run.job.job_id):
            after = ""  # an earlier attempt did not look for these chunks in the lexemes before its place
            await run.advance(writing)
        hidden = await hidden_chunks.count(writing, run.job.job_id)
    while hidden and after is not None:
        async with run.db.writing(run.user_id) as writing:
            after = await hidden_chunks.unindex(writing, run.job.job_id, after=after, limit=LEXEMES)
            await run.advance(writing, **({"after": after} if after is not None else {}))
    deleted = STAGED_ROWS
    while deleted:
        async with run.db.writing(run.user_id) as writing:
            deleted = await staged_documents.delete_ended(writing, limit=STAGED_ROWS)
            await run.advance(writing, **run.job.progress)
    async with run.db.writing(run.user_id) as writing:
        await hidden_chunks.forget(writing, run.job.job_id)
        await run.finish(writing)
    return hidden


REMOVAL = JobKind(document_rows.POSTING_REMOVAL, _remove_postings, queue="documents", is_cancellable=False, kept=0)
KIND = JobKind("store_document", _store, queue="documents", on_failure=REMOVAL.name)
KINDS = (KIND, mention_refresh.KIND, REMOVAL)
"""The kinds of jobs that together store a large document."""
