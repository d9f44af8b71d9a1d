"""Checks a user's derived rows (postings, vectors, mentions, …) against the texts and rebuilds wrong ones.

Each kind is compared without a lock and rewritten in slices, each in its own transaction under the user's lock:
searches and other users are not affected, and the user's own writes wait for at most one slice. A second run finds
nothing.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app.pipelines.documents import chunk_vectors, document_drafts
from app.pipelines.linking import mention_extraction, mention_refresh
from app.pipelines.running import model_switch
from app.pipelines.running.services import Services
from app.providers.base import Embedder
from app.store.connection.transactions import Database
from app.store.documents import documents, hidden_chunks
from app.store.documents.document_rows import VectorValue
from app.store.facets import facet_counts
from app.store.maintenance import repairs
from app.store.maintenance.repairs import Postings, Text

T = TypeVar("T")
TEXTS_PER_SLICE = 500
VECTORS_PER_SLICE = 64
LEXEMES_PER_SLICE = 500
ROWS_PER_SLICE = 1_000
CHUNKS_PER_PASS = 50_000
"""Chunks whose lexemes are compared in one pass; more take several passes, which bounds the memory."""
MENTION_PASSES = 3
"""Restoring a title or a heading may change the mentions in other documents."""
SAMPLED_RUNS, RUN_LENGTH = 20, 10
SAMPLED_LEXEMES, SAMPLED_POSTINGS = 50, 10_000
COUNTED_CHUNKS = 50_000
"""Chunks up to which a sampled check compares the statistics exactly."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Counts of a user's derived rows that differ from the stored texts.

    Attributes:
        texts: Chunks whose tsvector or length differs from that of their text.
        postings: Lexemes whose postings or document frequency disagree with the tsvectors.
        statistics: Text-search configurations whose numbers of chunks or tokens are wrong.
        vectors: Chunks without a vector.
        dangling: Mentions and headings of chunks or entities that do not exist.
        mentions: Documents whose mentions or headings differ from those in their texts.
        facets: Counts of keys or values of metadata that differ from the documents.
    """

    texts: int = 0
    postings: int = 0
    statistics: int = 0
    vectors: int = 0
    dangling: int = 0
    mentions: int = 0
    facets: int = 0

    def __bool__(self) -> bool:
        return any(dataclasses.astuple(self))


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check, the number of chunks compared, and whether those were all.

    `linked` is the number of documents whose mentions were compared; None if jobs have not linked all texts yet.
    """

    damage: Damage
    chunks: int
    complete: bool
    linked: int | None


async def users(*, db: Database) -> list[str]:
    """Every user with data. `db` is the owner's."""
    async with db.shared() as shared:
        return await repairs.users(shared)


async def run(user_id: str, services: Services) -> Damage:
    """Rebuild the damaged rows of one user; returns the damage. The database is opened as its owner or by the service.

    Raises DatabaseUnavailable, DiskFull, ProviderError; completed slices are kept.
    """
    db = services.db
    await mention_refresh.settle(user_id, services)
    return Damage(
        texts=await _texts(user_id, db=db, rewrite=True),
        postings=await _postings(user_id, db=db, rewrite=True),
        statistics=await _statistics(user_id, db=db, rewrite=True),
        vectors=await model_switch.run(
            services.embedder, db, lambda: _vectors(user_id, db=db, embedder=services.embedder)
        ),
        dangling=await _dangling(user_id, db=db, rewrite=True),
        mentions=await _link_again(user_id, services),
        facets=await _facets(user_id, db=db, rewrite=True),
    )


async def check(user_id: str, *, db: Database, keys: Sequence[str]) -> Checked:
    """Compare all of a user's derived rows with the stored texts; writes nothing."""
    async with db.reading(user_id) as reading:
        chunks = await repairs.count_chunks(reading, most=2**31)
    found = await _mentions(user_id, db=db, keys=keys)
    damage = Damage(
        texts=await _texts(user_id, db=db, rewrite=False),
        postings=await _postings(user_id, db=db, rewrite=False),
        statistics=await _statistics(user_id, db=db, rewrite=False),
        vectors=await _vectors(user_id, db=db, embedder=None),
        dangling=await _dangling(user_id, db=db, rewrite=False),
        mentions=len(found.wrong),
        facets=await _facets(user_id, db=db, rewrite=False),
    )
    return Checked(damage, chunks, complete=True, linked=found.documents)


async def check_sample(user_id: str, *, db: Database, keys: Sequence[str]) -> Checked:
    """Compare the derived rows of up to 200 chunks with their texts, and the statistics of up to 50,000 chunks.

    The mentions of the documents of up to 20 of these chunks are compared, of all documents if those are all chunks.
    """
    async with db.reading(user_id) as reading:
        chunks = await repairs.count_chunks(reading, most=COUNTED_CHUNKS + 1)
        found: dict[int, Text] = {}
        for start in _starts(await repairs.next_chunk_no(reading)):
            found |= {text.chunk_no: text for text in await repairs.texts(reading, after=start, limit=RUN_LENGTH)}
        sampled = await repairs.sample(reading, list(found))
        lexemes = 0
        if not await hidden_chunks.exist(reading):
            _compared, lexemes = await repairs.sample_lexemes(
                reading, list(found), most=SAMPLED_POSTINGS, limit=SAMPLED_LEXEMES
            )
        wrong = await repairs.wrong_texts(reading, {no: _indexed(text) for no, text in found.items()})
        complete = len(found) == chunks
        of_documents = None if complete else await repairs.documents_of(reading, list(found)[::RUN_LENGTH])
    linked = await _mentions(user_id, db=db, keys=keys, among=of_documents)
    damage = Damage(
        texts=len(wrong),
        postings=max(sampled.postings, lexemes),
        statistics=await _statistics(user_id, db=db, rewrite=False) if chunks <= COUNTED_CHUNKS else 0,
        vectors=sampled.vectors,
        dangling=sampled.mentions,
        mentions=len(linked.wrong),
        facets=await _facets(user_id, db=db, rewrite=False) if chunks <= COUNTED_CHUNKS else 0,
    )
    return Checked(damage, len(found), complete=complete, linked=linked.documents)


def _starts(next_no: int) -> Iterator[int]:
    """The first numbers of the sampled runs of chunks; all runs if there are few."""
    if next_no <= SAMPLED_RUNS * RUN_LENGTH:
        return iter(range(0, next_no, RUN_LENGTH))
    return iter(random.sample(range(next_no - 1), SAMPLED_RUNS))


async def _texts(user_id: str, *, db: Database, rewrite: bool) -> int:
    count, after = 0, 0
    while True:
        async with db.reading(user_id) as reading:
            found = await repairs.texts(reading, after=after, limit=TEXTS_PER_SLICE)
            indexed = {text.chunk_no: _indexed(text) for text in found}
            wrong = await repairs.wrong_texts(reading, indexed)
        if wrong and rewrite:
            async with db.writing(user_id) as writing:
                await writing.lock()
                await repairs.rewrite_texts(writing, {chunk_no: indexed[chunk_no] for chunk_no in wrong})
        count += len(wrong)
        if len(found) < TEXTS_PER_SLICE:
            return count
        after = found[-1].chunk_no


def _indexed(text: Text) -> str:
    return document_drafts.indexed_text(text.title, text.heading_path, text.content, text.config)


async def _postings(user_id: str, *, db: Database, rewrite: bool) -> int:
    """Count the wrong lexemes, and rewrite them; 0 while there are postings of chunks that are not visible."""
    async with db.reading(user_id) as reading:
        if await hidden_chunks.exist(reading):
            return 0
        passes = await repairs.count_chunks(reading, most=2**31) // CHUNKS_PER_PASS + 1
    count = 0
    for slice_no in range(passes):
        async with db.reading(user_id) as reading:
            since = await repairs.next_chunk_no(reading)
            wrong = await repairs.wrong_postings(reading, slice_no=slice_no, slices=passes)
        for some in _sliced(wrong, LEXEMES_PER_SLICE) if rewrite else ():
            await _rewrite_postings(user_id, some, since, db=db)
        count += len(wrong)
    return count


async def _rewrite_postings(user_id: str, wrong: Sequence[Postings], since: int, *, db: Database) -> None:
    async with db.writing(user_id) as writing:
        await writing.lock()
        if not await hidden_chunks.exist(writing):
            await repairs.rewrite_postings(writing, wrong, since=since)


async def _facets(user_id: str, *, db: Database, rewrite: bool) -> int:
    async with db.reading(user_id) as reading:
        found = await facet_counts.differences(reading)
    if found and rewrite:
        async with db.writing(user_id) as writing:
            await writing.lock()
            await facet_counts.recount(writing)
    return found


async def _statistics(user_id: str, *, db: Database, rewrite: bool) -> int:
    """Count the wrong statistics, and correct them; 0 while they include chunks that are not visible."""
    async with db.reading(user_id) as reading:
        found = [] if await hidden_chunks.exist(reading) else await repairs.drift(reading)
    if found and rewrite:
        async with db.writing(user_id) as writing:
            await writing.lock()
            if not await hidden_chunks.exist(writing):
                await repairs.add_drift(writing, found)
    return len(found)


def embedded_texts(found: Iterable[Text]) -> dict[int, str]:
    """The texts that are embedded for chunks, by number."""
    return {
        one.chunk_no: document_drafts.embedded_text(one.title, one.filename, one.heading_path, one.content)
        for one in found
    }


async def _vectors(user_id: str, *, db: Database, embedder: Embedder | None) -> int:
    """Count the chunks without a vector, and add their vectors if there is an embedder."""
    count, after = 0, 0
    while True:
        async with db.reading(user_id) as reading:
            found = await repairs.texts_without_vector(reading, after=after, limit=VECTORS_PER_SLICE)
            known = await documents.known_vectors(reading, keys=[text.embedding_key for text in found])
        if not found:
            return count
        if embedder is not None:
            stored = {one.chunk_no: known[one.embedding_key] for one in found if one.embedding_key in known}
            missing = embedded_texts(one for one in found if one.embedding_key not in known)
            new: dict[int, VectorValue] = {**stored, **await chunk_vectors.computed(missing, embedder)}
            async with db.writing(user_id) as writing:
                await writing.lock()
                await repairs.add_vectors(writing, new)
        count += len(found)
        after = found[-1].chunk_no


async def _dangling(user_id: str, *, db: Database, rewrite: bool) -> int:
    async with db.reading(user_id) as reading:
        found = await repairs.dangling(reading)
    for some in _sliced(found, ROWS_PER_SLICE) if rewrite else ():
        async with db.writing(user_id) as writing:
            await writing.lock()
            await repairs.delete_dangling(writing, some)
    return len(found)


@dataclass(frozen=True, slots=True)
class _Linked:
    """The documents with wrong mentions or headings, and of how many; None if none could be compared."""

    wrong: frozenset[UUID] = frozenset()
    documents: int | None = None


async def _mentions(user_id: str, *, db: Database, keys: Sequence[str], among: Sequence[UUID] | None = None) -> _Linked:
    """Compare the mentions and headings of documents; not while jobs have not linked all texts yet."""
    async with db.reading(user_id) as reading:
        if await mention_refresh.is_pending(reading):
            return _Linked()
        wanted = await repairs.document_ids(reading) if among is None else among
    wrong = [document_id for document_id in wanted if await _is_linked_wrongly(user_id, document_id, db=db, keys=keys)]
    return _Linked(frozenset(wrong), len(wanted))


async def _link_again(user_id: str, services: Services) -> int:
    """Let the job link the documents that are linked wrongly; returns how many they are."""
    wrong: set[UUID] = set()
    for _pass in range(MENTION_PASSES):
        found = await _mentions(user_id, db=services.db, keys=services.chunking_options.entity_keys)
        for some in _sliced(sorted(found.wrong), ROWS_PER_SLICE):
            async with services.db.writing(user_id) as writing:
                await writing.lock()
                for document_id in some:
                    await mention_refresh.leave(writing, document_id)
        if not found.wrong:
            break
        wrong |= found.wrong
        await mention_refresh.settle(user_id, services)
    return len(wrong)


async def _is_linked_wrongly(user_id: str, document_id: UUID, *, db: Database, keys: Sequence[str]) -> bool:
    async with db.reading(user_id) as reading:
        expected = await mention_extraction.expected(reading, document_id, keys=keys)
        return expected is not None and expected != await repairs.stored_names(reading, document_id)


def _sliced(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
