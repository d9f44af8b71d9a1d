"""Checks a user's derived rows (postings, vectors, mentions, …) against the texts and rebuilds wrong ones.

Each kind is compared without a lock and rewritten in slices, each in its own transaction under the user's lock:
searches and other users are not affected, and the user's own writes wait for at most one slice. A second run finds
nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app import capability, errors
from app.database.transactions import Database
from app.database.vectors import VectorValue
from app.derived_row_repairs import Damage, Repair, UserRows, under_lock
from app.documents.store import document_puts
from app.documents.storing import document_drafts, document_writes
from app.entities.linking import mention_extraction, mention_refresh
from app.maintenance.store import repairs
from app.maintenance.store.repairs import Drift, Postings, Text
from app.query import model_replacement
from app.services import Services

T = TypeVar("T")
TEXTS_PER_SLICE = 500
VECTORS_PER_SLICE = 64
LEXEMES_PER_SLICE = 500
ROWS_PER_SLICE = 1_000
CHUNKS_PER_PASS = 50_000
"""Chunks whose lexemes are compared in one pass; more take several passes, which bounds the memory."""
MENTION_PASSES = 3
"""Most passes over mentions: restoring a title or a heading may change the mentions in other documents."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The damage of a user's rows.

    `linked` is the number of documents whose mentions were compared; None if jobs have not linked all texts yet.
    """

    damage: Damage
    linked: int | None


async def users(chosen: Sequence[str] = (), *, db: Database) -> list[str]:
    """The chosen users, or every user with data. `db` is the owner's. Raises NotFound for a user without data."""
    async with db.shared() as shared:
        known = await repairs.users(shared)
    if unknown := sorted(set(chosen).difference(known)):
        raise errors.NotFound(f"Nothing is stored for the user {unknown[0]!r}.")
    return list(chosen) or known


async def run(user_id: str, services: Services) -> Damage:
    """Rebuild the damaged rows of one user; returns the damage. The database is opened as its owner or by the service.

    Raises DatabaseUnavailable, DiskFull, ProviderError; completed slices are kept.
    """
    await mention_refresh.settle(user_id, services)
    rows = UserRows(user_id, services.db, services.chunking_options.entity_keys)
    return {one.kind: count for one in every() if (count := await _rebuild(one, rows, services))}


async def _rebuild(repair: Repair, rows: UserRows, services: Services) -> int:
    """Rewrite what is wrong; returns how much it was."""
    count = 0
    for _pass in range(repair.passes):
        before = count
        async for wrong in repair.find(rows):
            await repair.rewrite(wrong, rows.user_id, services)
            count += len(wrong)
        if count == before:
            break
    return count


async def check(user_id: str, *, db: Database, keys: Sequence[str]) -> Checked:
    """Compare all of a user's derived rows with the stored texts; writes nothing."""
    rows = UserRows(user_id, db, keys)
    linked = await _list_linked(rows)
    counts = {one.kind: sum([len(wrong) async for wrong in one.find(rows)]) for one in every()}
    damage = {kind: count for kind, count in counts.items() if count}
    return Checked(damage, linked=None if linked is None else len(linked))


async def _find_texts(rows: UserRows) -> AsyncIterator[Sequence[tuple[int, str]]]:
    """The numbers of chunks whose tsvector or length is wrong, with the text to index."""
    after = 0
    while True:
        async with rows.reading() as reading:
            found = await repairs.texts(reading, after=after, limit=TEXTS_PER_SLICE)
            indexed = {
                one.chunk_no: document_drafts.indexed_text(
                    one.title, one.filename, one.heading_path, one.content, one.config
                )
                for one in found
            }
            wrong = await repairs.wrong_texts(reading, indexed)
        if wrong:
            yield [(chunk_no, indexed[chunk_no]) for chunk_no in wrong]
        if not found:
            return
        after = found[-1].chunk_no


async def _find_postings(rows: UserRows) -> AsyncIterator[Sequence[Postings]]:
    async with rows.reading() as reading:
        passes = await repairs.count_chunks(reading) // CHUNKS_PER_PASS + 1
    for slice_no in range(passes):
        async with rows.reading() as reading:
            wrong = await repairs.wrong_postings(reading, slice_no=slice_no, slices=passes)
        for some in _slice(wrong, LEXEMES_PER_SLICE):
            yield some


async def _find_drift(rows: UserRows) -> AsyncIterator[Sequence[Drift]]:
    async with rows.reading() as reading:
        found = await repairs.drift(reading)
    if found:
        yield found


async def _find_missing_vectors(rows: UserRows) -> AsyncIterator[Sequence[Text]]:
    after = 0
    while True:
        async with rows.reading() as reading:
            found = await repairs.texts_without_vector(reading, after=after, limit=VECTORS_PER_SLICE)
        if not found:
            return
        yield found
        after = found[-1].chunk_no


def embedded_texts(found: Iterable[Text]) -> dict[int, str]:
    """The texts that are embedded for chunks, by number."""
    return {
        one.chunk_no: document_drafts.embedded_text(one.title, one.filename, one.heading_path, one.content)
        for one in found
    }


async def _add_vectors(wrong: Sequence[Text], user_id: str, services: Services) -> None:
    """Store the vectors of chunks. A text whose vector is stored already is not embedded again."""
    db, embedder = services.db, services.embedder

    async def add() -> None:
        async with db.reading(user_id) as reading:
            known = await document_puts.known_vectors(reading, keys=[text.embedding_key for text in wrong])
        stored = {one.chunk_no: known[one.embedding_key] for one in wrong if one.embedding_key in known}
        missing = embedded_texts(one for one in wrong if one.embedding_key not in known)
        new: dict[int, VectorValue] = {**stored, **await document_writes.compute_vectors(missing, embedder)}
        async with db.locking(user_id) as writing:
            await repairs.add_vectors(writing, new)

    await model_replacement.run(embedder, db, add)


async def _find_mentions(rows: UserRows) -> AsyncIterator[Sequence[UUID]]:
    """The documents with wrong mentions or headings; none while jobs have not linked all texts yet."""
    wrong: list[UUID] = []
    for document_id in await _list_linked(rows) or ():
        async with rows.reading() as reading:
            expected = await mention_extraction.compute_expected(reading, document_id, keys=rows.keys)
            if expected is not None and expected != await repairs.read_names(reading, document_id):
                wrong.append(document_id)
    for some in _slice(wrong, ROWS_PER_SLICE):
        yield some


async def _list_linked(rows: UserRows) -> list[UUID] | None:
    """The user's documents; None if jobs have not linked all texts yet."""
    async with rows.reading() as reading:
        return None if await mention_refresh.is_pending(reading) else await repairs.document_ids(reading)


async def _link_again(wrong: Sequence[UUID], user_id: str, services: Services) -> None:
    """Let the job link documents, and wait for it."""
    async with services.db.locking(user_id) as writing:
        for document_id in wrong:
            await mention_refresh.leave(writing, document_id)
    await mention_refresh.settle(user_id, services)


def _slice(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


_OWN = (
    Repair("texts", _find_texts, under_lock(repairs.rewrite_texts), "tsvectors"),
    Repair("postings", _find_postings, under_lock(repairs.rewrite_postings), "lexemes"),
    Repair("statistics", _find_drift, under_lock(repairs.add_drift), "statistics"),
    Repair("vectors", _find_missing_vectors, _add_vectors, "missing vectors"),
    Repair("mentions", _find_mentions, _link_again, "documents with wrong mentions", passes=MENTION_PASSES),
)


def every() -> tuple[Repair, ...]:
    """The repairs of all derived rows, in the order in which they are done: postings follow from tsvectors."""
    return (*_OWN, *(one for some in capability.declared("repairs") for one in some))
