"""Links a long document to the entities that it names, as a background job, in slices under the user's lock.

The result is that of `mention_extraction.link`, which does the same in one transaction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from app.pipelines import cancellable, gazetteers, mention_extraction, workers
from app.pipelines.mention_extraction import Matcher, SectionChunk
from app.pipelines.workers import ClaimLost, Handler, Run
from app.store import documents, jobs, mentions, staging
from app.store.db import Writing
from app.store.mentions import ChunkText, Mention
from app.text import names, tags
from app.text.names import Name

CHUNKS = 128
"""Chunks that are linked in one transaction."""
HEADINGS, HEADING_CHUNKS = 5, 1_000
"""Headings, and chunks under them, that are stored in one transaction."""


async def enqueue(db: Writing, user_id: str, document_id: UUID) -> None:
    """Queue a job that links a document, in the transaction that changes it."""
    await jobs.add(db, user_id, staging.LINK, {"document_id": str(document_id)})


def handlers(keys: Sequence[str]) -> dict[str, Handler]:
    """The handler of the jobs that link documents; `keys` are the metadata keys whose values name entities."""
    return {staging.LINK: partial(_link, keys=keys)}


@dataclass(frozen=True, slots=True)
class _Linking:
    """One attempt to link a document. `version` is that of the document which is linked."""

    run: Run
    document_id: UUID
    keys: Sequence[str]
    version: str

    async def begin(self, writing: Writing) -> None:
        """Take the user's lock. Raises ClaimLost if the document has changed: its change has queued another job."""
        await mentions.lock(writing, self.run.job.user_id)
        if await _version(writing, self.run.job.user_id, self.document_id) != self.version:
            raise ClaimLost

    async def advance(self, writing: Writing, **progress: Any) -> None:
        """Store progress in the transaction of the work. Raises ClaimLost."""
        known = {**progress, "version": self.version, "unit": "chunks", "step": "link"}
        if not await jobs.advance(writing, self.run.job, progress=known, lease_s=workers.LEASE_S):
            raise ClaimLost


async def _link(run: Run, *, keys: Sequence[str]) -> int:
    user_id, document_id = run.job.user_id, UUID(run.job.payload["document_id"])
    async with run.db.reading(user_id) as reading:
        version = await _version(reading, user_id, document_id)
        chunks = await mentions.chunk_texts(reading, user_id, document_id)
    if not chunks or chunks[0].opening is None:
        async with run.db.writing(user_id) as writing:
            await jobs.finish(writing, run.job)
        return 0
    linking = _Linking(run, document_id, keys, version)
    resumed = run.job.progress if run.job.progress.get("version") == version else {}
    title = names.title_name(chunks[0].opening.title)
    if "done" not in resumed:
        await _link_head(linking, chunks[0], title)
        await _link_headings(linking, chunks, title)
    for start in range(resumed.get("done", 0), len(chunks), CHUNKS):
        async with run.db.writing(user_id) as writing:
            await linking.begin(writing)
            gazetteer = (await gazetteers.uncommitted(writing, user_id)).gazetteer
            some = chunks[start : start + CHUNKS]
            await mention_extraction.link_chunks(writing, user_id, some, Matcher(title, gazetteer, keys))
            await linking.advance(writing, done=start + len(some), total=len(chunks))
    async with run.db.writing(user_id) as writing:
        await linking.begin(writing)
        if not await jobs.finish(writing, run.job, result={"document_id": str(document_id)}):
            raise ClaimLost
    return len(chunks)


async def _link_head(linking: _Linking, first: ChunkText, title: Name | None) -> None:
    """Delete the old mentions and headings, and store the entities of the title and the metadata."""
    user_id, document_id = linking.run.job.user_id, linking.document_id
    async with linking.run.db.writing(user_id) as writing:
        await linking.begin(writing)
        before = await mentions.of_document(writing, user_id, document_id)
        opening = await mentions.begin(writing, user_id, document_id, version=names.VERSION)
        if title is not None:
            await mention_extraction.link_title(writing, user_id, document_id, title)
            await mentions.add(writing, user_id, [Mention(title.entity_id, first.chunk_no, document_id, "title", 1)])
        found = tags.from_metadata(opening.metadata, linking.keys)
        await mention_extraction.add_metadata_entities(writing, user_id, found)
        await mentions.add(writing, user_id, list(mention_extraction.tag_mentions(first, linking.keys)))
        await mentions.prune(writing, user_id, before)


async def _link_headings(linking: _Linking, chunks: Sequence[ChunkText], title: Name | None) -> None:
    """Store the headings over each chunk, a few headings in a transaction."""
    user_id, document_id = linking.run.job.user_id, linking.document_id
    work = partial(_sections, chunks, title)
    for some in await cancellable.run(sum(len(chunk.content) for chunk in chunks), work):
        async with linking.run.db.writing(user_id) as writing:
            await linking.begin(writing)
            await mention_extraction.link_headings(writing, user_id, document_id, some)


def _sections(chunks: Sequence[ChunkText], title: Name | None, **_check: Any) -> list[list[SectionChunk]]:
    """The chunks under each heading, in groups for one transaction each."""
    found = [
        one for one in mention_extraction.section_chunks(chunks) if not mention_extraction.is_title(one.name, title)
    ]
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
    changed = await documents.changed_at(db, user_id, document_id)
    return "" if changed is None else changed.isoformat()
