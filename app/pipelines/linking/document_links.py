"""Links a long document to the entities that it names, as a background job, in slices under the user's lock.

The result is that of `mention_extraction.link`, which does the same in one transaction.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.pipelines.linking import gazetteers, mention_extraction, name_links
from app.pipelines.linking.mention_extraction import Matcher
from app.pipelines.linking.name_links import DocumentNames, SectionChunk, Sections
from app.pipelines.running import offload
from app.pipelines.running.workers import ClaimLost, JobKind, Run
from app.store.connection.transactions import Writing
from app.store.documents import documents
from app.store.entities import mentions
from app.store.entities.mentions import ChunkText, Mention
from app.text.names import names, tags
from app.text.names.names import Name

MOST_CHUNKS = 1_000
"""Chunks up to which a document is linked in one transaction; a job links a longer one in slices."""
CHUNKS, PAGE = 128, 2_048
"""Chunks that are linked in one transaction, and that are read at once."""
HEADINGS, HEADING_CHUNKS = 5, 1_000
"""Headings, and chunks under them, that are stored in one transaction."""


async def relink(db: Writing, document_id: UUID, *, chunk_count: int, keys: Sequence[str]) -> None:
    """Replace the mentions and headings of a stored document, or queue a job that does. Under the user's lock."""
    if chunk_count > MOST_CHUNKS:
        await enqueue(db, document_id)
    else:
        before = await mention_extraction.relink(db, document_id, keys=keys)
        await mentions.prune(db, before)


async def enqueue(db: Writing, document_id: UUID) -> None:
    """Queue a job that links a document, in the transaction that changes it."""
    await KIND.add(db, {"document_id": str(document_id)})


@dataclass(frozen=True, slots=True)
class _Linking:
    """One attempt to link a document. `version` is that of the document which is linked."""

    run: Run
    document_id: UUID
    keys: Sequence[str]
    version: str

    async def begin(self, writing: Writing) -> None:
        """Take the user's lock. Raises ClaimLost if the document has changed: its change has queued another job."""
        await writing.lock()
        if await _version(writing, self.run.job.user_id, self.document_id) != self.version:
            raise ClaimLost

    async def advance(self, writing: Writing, **progress: Any) -> None:
        """Store progress in the transaction of the work. Raises ClaimLost."""
        await self.run.advance(writing, **progress, version=self.version, unit="chunks", step="link")


async def _link(run: Run) -> int:
    user_id, document_id = run.job.user_id, UUID(run.job.payload["document_id"])
    keys = run.services.chunking_options.entity_keys
    async with run.db.reading(user_id) as reading:
        version = await _version(reading, user_id, document_id)
        total = await mentions.count_chunks(reading, document_id)
        opening = await mentions.chunk_texts(reading, document_id, limit=1)
    if not opening or opening[0].opening is None:
        async with run.db.writing(user_id) as writing:
            await run.finish(writing)
        return 0
    linking = _Linking(run, document_id, keys, version)
    resumed = run.job.progress if run.job.progress.get("version") == version else {}
    title = names.title_name(opening[0].opening.title)
    if "done" not in resumed:
        await _link_head(linking, opening[0], title)
        await _link_headings(linking, title)
    async for done, some in _slices(linking, resumed.get("done", 0)):
        async with run.db.writing(user_id) as writing:
            await linking.begin(writing)
            known = (await gazetteers.uncommitted(writing)).gazetteer
            matcher = Matcher.of(opening[0].opening, known, keys)
            await mention_extraction.link_chunks(writing, [(chunk, matcher) for chunk in some])
            await linking.advance(writing, done=done, total=total)
    async with run.db.writing(user_id) as writing:
        await linking.begin(writing)
        await run.finish(writing, document_id=str(document_id))
    return total


KIND = JobKind("link_document", _link, queue="documents", is_cancellable=False)


async def _slices(linking: _Linking, first: int) -> AsyncIterator[tuple[int, list[ChunkText]]]:
    """The chunks from an index on, in slices of one transaction, each with the index after its last one."""
    async for page in _pages(linking, first):
        for start in range(0, len(page), CHUNKS):
            some = page[start : start + CHUNKS]
            first += len(some)
            yield first, some


async def _pages(linking: _Linking, first: int) -> AsyncIterator[list[ChunkText]]:
    """The chunks from an index on, a page of them in memory. `begin` notices a document that changes meanwhile."""
    user_id = linking.run.job.user_id
    while True:
        async with linking.run.db.reading(user_id) as reading:
            page = await mentions.chunk_texts(reading, linking.document_id, first=first, limit=PAGE)
        if not page:
            return
        yield page
        first += len(page)


async def _link_head(linking: _Linking, first: ChunkText, title: Name | None) -> None:
    """Delete the old mentions and headings, and store the entities of the title and the metadata."""
    user_id, document_id = linking.run.job.user_id, linking.document_id
    async with linking.run.db.writing(user_id) as writing:
        await linking.begin(writing)
        before = await mentions.of_documents(writing, [document_id])
        opening = await mentions.begin(writing, document_id, version=names.VERSION)
        found = tags.of_document(opening.metadata, opening.extracted, linking.keys)
        await name_links.store(writing, [DocumentNames(document_id, title, found)])
        if title is not None:
            await mentions.add(writing, [Mention(title.entity_id, first.chunk_no, document_id, "title", 1)])
        await mentions.add(writing, list(mention_extraction.tag_mentions(first, linking.keys)))
        await mentions.prune(writing, before)


async def _link_headings(linking: _Linking, title: Name | None) -> None:
    """Store the headings over each chunk, a few headings in a transaction."""
    user_id, document_id = linking.run.job.user_id, linking.document_id
    sections = Sections()
    async for page in _pages(linking, 0):
        await offload.run(sum(len(chunk.content) for chunk in page), sections.add, page)
    for some in await offload.run(10 * len(sections), _groups, sections, title):
        async with linking.run.db.writing(user_id) as writing:
            await linking.begin(writing)
            await name_links.store(writing, [DocumentNames(document_id, in_sections=some)])


def _groups(sections: Sections, title: Name | None) -> list[list[SectionChunk]]:
    """The chunks under each heading, in groups for one transaction each."""
    found = [one for one in sections.all() if not name_links.is_title(one.name, title)]
    found.sort(key=lambda one: one.name.key)
    return list(_grouped(found))


def _grouped(found: Sequence[SectionChunk]) -> Iterator[list[SectionChunk]]:
    group: list[SectionChunk] = []
    headings = 0
    for _key, some in itertools.groupby(found, key=lambda one: one.name.key):
        group += some
        headings += 1
        if headings >= HEADINGS or len(group) >= HEADING_CHUNKS:
            yield group
            group, headings = [], 0
    if group:
        yield group


async def _version(db: Any, user_id: str, document_id: UUID) -> str:
    changed = await documents.changed_at(db, document_id)
    return "" if changed is None else changed.isoformat()
