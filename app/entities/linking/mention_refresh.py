"""Links stored texts again, in one background job per user.

Afterwards a text has the same mentions as if it were stored now.

The job first links long documents, whose write leaves this to the job, and documents that were linked by earlier rules.
Then it follows changed names: the text index finds the chunks that may contain a changed name, the job reads them, and
links the chunks that do contain one again. Each transaction links some chunks under the user's lock and stores the
progress, so that another worker can continue if this one dies. The job ends under the same lock, and queues another job
if a write has recorded something in the meantime. See `workers` for how a job survives its worker.

It reads with generic plans (`searching`). After a bulk load the planner's statistics may not contain the user yet, so
plans for the user's own values would read all mentions for each name and all documents for each chunk.

Names are compared by words (`names.words`). These are not always words of the text index: the index keeps 2024.07
whole, and divides words at other marks in some scripts. Only words that the index has for every text with the name are
used.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from app.concurrency import offload
from app.database import retries
from app.database.transactions import Database, Reading, Writing
from app.entities.linking import entities_from_documents, mention_extraction
from app.entities.store import chunks_to_relink, mentions, name_changes, titles_and_headings
from app.jobs import store as jobs
from app.jobs import workers
from app.jobs.workers import JobKind, Run
from app.services import Services
from app.text.names import gazetteer, metadata_names, names
from app.text.words import tsvector_text

log = logging.getLogger(__name__)
T = TypeVar("T")

NAMES = 2_000
"""Number of changed names whose chunks are looked up together."""
READ_PER_S = 1_000
"""Chunks per second that jobs read for names, on average: after a job that reads more, the next one waits. It looks for
all names recorded in the meantime together, so that storing a chunk does not cost more in a large collection."""
DOCUMENTS = 100
"""Number of documents listed at once."""
READ = 1_000
"""Number of chunks whose texts are searched for names at once."""
SLICE = 128
"""Number of chunks that one transaction links."""
MOST_CHUNKS = 1_000
"""A document with at most this many chunks is linked in one transaction."""
PAGE = 2_048
"""Number of chunks of a long document whose headings are read at once."""
HEADINGS = 1_000
"""Number of chunks under headings that one transaction stores."""
WAIT_S = 0.2
"""Seconds between two checks of the jobs of other processes."""
NAME_COST = 100
"""Cost of one step of looking up a changed name, in units of `offload.run`: about 5 microseconds."""
_INDEXED = re.compile("[a-z][a-z0-9]+|[a-z\u00df-\u024f\u0400-\u052f\u1100-\u11ff\u4e00-\u9fff]{2,}")
"""Latin and Cyrillic letters, Chinese characters, and Korean letters (syllables are decomposed into letters)."""
_NUMBER = re.compile("[0-9]{4,}")
"""Fewer digits may be a group in a number with thousands separators, which is indexed as a whole."""


async def relink(db: Writing, document_id: UUID, *, keys: Sequence[str]) -> None:
    """Replace the mentions and headings of a stored document, or leave a long one to a job. Under the user's lock."""
    if await mentions.count_chunks(db, document_id) > MOST_CHUNKS:
        await leave(db, document_id)
    else:
        await mention_extraction.relink(db, document_id, keys=keys)


async def leave(db: Writing, document_id: UUID) -> None:
    """Leave the linking of a document to a job. Under the user's lock."""
    await mentions.leave(db, document_id)
    await name_changes.enqueue(db)


async def enqueue_all(owner: Database) -> list[str]:
    """Queue a job for each user whose texts must be linked again and who has no job; returns these users."""
    async with owner.shared() as shared:
        return await name_changes.enqueue_all(shared, rules=names.VERSION)


async def relink_old_texts(owner: Database, services: Services | None) -> None:
    """Link the texts that an older version linked. Without services, leave it to jobs."""
    for user_id in await enqueue_all(owner):
        if services is not None:
            await drain(user_id, services)


async def is_pending(db: Reading) -> bool:
    """Whether some texts must still be linked again."""
    return bool(
        await name_changes.pending(db, limit=1) or await mentions.list_unlinked(db, version=names.VERSION, limit=1)
    )


async def drain(user_id: str, services: Services) -> int:
    """Run the waiting jobs of one user without pauses. Returns the number of linked chunks."""
    chunks = 0
    while True:
        async with services.db.shared() as shared:
            await jobs.hasten(shared.as_user(user_id), KIND.name)
        if (ran := await workers.run_next(services, [KIND], user_id=user_id)) is None:
            return chunks
        chunks += ran[1]


async def settle(user_id: str, services: Services) -> int:
    """Run the jobs of one user, and wait for jobs of other processes. Returns the number of chunks linked here."""
    chunks = 0
    while True:
        chunks += await drain(user_id, services)
        async with services.db.shared() as shared:
            if not await jobs.count(shared.as_user(user_id), KIND.name):
                return chunks
        await asyncio.sleep(WAIT_S)


async def _refresh(run: Run) -> int:
    chunks, read, progress = 0, 0, run.job.progress
    while True:
        chunks += await _link_documents(run, progress)
        async with run.db.searching(run.user_id) as reading:
            batch = await _batch(reading, progress)
        if batch is not None:
            chunks += await _follow(run, batch)
            read += len(batch.candidates)
        if batch is None or len(batch.changes) < NAMES:
            await retries.while_busy(_finish, run, read)
            log.info("mentions refreshed", extra={"action": "mentions_refreshed", "chunks": chunks, "read": read})
            return chunks
        progress = {}


async def _finish(run: Run, read: int) -> None:
    """End the job, and queue another one for later changes. Writes hold the same lock until they commit."""
    async with run.db.writing(run.user_id) as writing:
        await writing.hold()
        await run.finish(writing)
        await name_changes.pause(writing, read / READ_PER_S)
        async with writing.custom_plans():
            is_left = await is_pending(writing)
        if is_left:
            await name_changes.enqueue(writing)


KIND = JobKind(name_changes.JOB, _refresh, queue="mentions", is_cancellable=False, kept=0, gives_up=False)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The oldest changed names, and the chunks that may contain one of them.

    An earlier attempt has linked the chunks up to `after`.
    """

    changes: Sequence[name_changes.NameChange]
    finder: _FormFinder
    candidates: Sequence[int]
    linked: frozenset[int]
    after: int

    def progress(self, after: int) -> dict[str, Any]:
        """What another worker needs to continue after this chunk."""
        last, done = self.changes[-1], bisect.bisect(self.candidates, after)
        return {"until": [last.since, last.key], "after": after, "done": done, "total": len(self.candidates)}


async def _batch(db: Reading, progress: Mapping[str, Any]) -> _Changes | None:
    """The next batch of changes, or the pending rest of an earlier attempt's batch; None without changes."""
    until = progress.get("until")
    changes = await name_changes.pending(db, limit=NAMES, until=until)
    if not changes:
        return None
    size = NAME_COST * len(changes)
    probes = await offload.run(size, lambda: [(probe, one) for one in changes for probe in _probes(one.key, one.name)])
    dotted = await chunks_to_relink.dotted_numbers(db, {number for probe, _ in probes for number in probe.numbers})
    forms = await offload.run(
        size,
        lambda: [chunks_to_relink.ChangedForm(probe.indexed(without=dotted), one.before) for probe, one in probes],
    )
    finder = _FormFinder(probes)
    linked = await chunks_to_relink.linked(db, await offload.run(size, _entities, probes))
    found = await chunks_to_relink.candidates(db, forms) | linked
    is_resumed = until is not None and changes[-1].position <= (until[0], until[1].encode())
    return _Changes(changes, finder, sorted(found), frozenset(linked), progress["after"] if is_resumed else 0)


def _entities(probes: Sequence[tuple[_Probe, name_changes.NameChange]]) -> dict[UUID, int]:
    """The entities derived from the forms of names, each with the chunk number before which to look for it."""
    found: dict[UUID, int] = {}
    for probe, change in probes:
        for key in {change.key, " ".join(probe.form)}:
            entity = names.Name(key, key).entity_id
            found[entity] = max(change.before, found.get(entity, 0))
    return found


async def _follow(run: Run, batch: _Changes) -> int:
    """Link the chunks that contain one of the names or are linked to it. Returns their number."""
    chunks = 0
    first = bisect.bisect(batch.candidates, batch.after)
    for start in range(first, len(batch.candidates), READ):
        some = batch.candidates[start : start + READ]
        async with run.db.searching(run.user_id) as reading:
            texts = await chunks_to_relink.texts(reading, [number for number in some if number not in batch.linked])
        named = await offload.run(sum(len(text) for _number, text in texts), batch.finder.among, texts)
        found = sorted({*named, *batch.linked.intersection(some)})
        for begin in range(0, len(found), SLICE):
            await retries.while_busy(_link_slice, run, batch, found[begin : begin + SLICE])
        async with run.db.shared() as shared:
            await run.advance(shared, unit="chunks", **batch.progress(some[-1]))
        chunks += len(found)
    await retries.while_busy(_mark_followed, run, batch.changes)
    return chunks


async def _link_slice(run: Run, batch: _Changes, chunk_nos: Sequence[int]) -> None:
    async with run.db.locking(run.user_id) as writing:
        await mention_extraction.relink_chunks(writing, chunk_nos, keys=_keys(run), version=names.VERSION)
        await run.advance(writing, unit="chunks", **batch.progress(chunk_nos[-1]))


async def _mark_followed(run: Run, changes: Sequence[name_changes.NameChange]) -> None:
    async with run.db.writing(run.user_id) as writing:
        await writing.hold()
        await name_changes.mark_followed(writing, changes)


async def _link_documents(run: Run, progress: Mapping[str, Any]) -> int:
    """Link the documents that are left to the job. Returns the number of their chunks."""
    chunks = 0
    while True:
        async with run.db.reading(run.user_id) as reading:  # a generic plan may read all documents
            waiting = await mentions.list_unlinked(reading, version=names.VERSION, limit=DOCUMENTS)
        for document_id in waiting:
            chunks += await _link_document(run, document_id, progress)
        if not waiting:
            return chunks


async def _link_document(run: Run, document_id: UUID, progress: Mapping[str, Any]) -> int:
    async with run.db.searching(run.user_id) as reading:
        version = await mentions.version_to_link(reading, document_id)
        chunk_nos = await mentions.chunk_nos(reading, document_id)
    if not version:  # deleted since it was listed
        return 0
    linking = _Linking(run, document_id, version)
    is_resumed = progress.get("document") == [str(document_id), version]
    done = progress.get("done", 0) if is_resumed else 0
    try:
        if len(chunk_nos) <= MOST_CHUNKS:
            await linking.write(partial(mention_extraction.relink, document_id=document_id, keys=_keys(run)))
            return len(chunk_nos)
        if not done:
            await linking.store_names()
        for start in range(done, len(chunk_nos), SLICE):
            await linking.write(partial(linking.link_slice, chunk_nos, start))
        await linking.write(partial(mentions.set_version, document_id=document_id, version=names.VERSION))
    except _DocumentChanged:
        return done
    return len(chunk_nos)


class _DocumentChanged(Exception):
    """Since the job began with the document, it was changed or deleted, or a write has linked it."""


@dataclass(frozen=True, slots=True)
class _Linking:
    """Links the version of a document that a job has found; a long document in several transactions."""

    run: Run
    document_id: UUID
    version: str

    async def write(self, work: Callable[[Writing], Awaitable[T]]) -> T:
        """Runs `work` in a transaction with the user's lock, and returns its result. Raises _DocumentChanged."""

        async def locked() -> T:
            async with self.run.db.locking(self.run.user_id) as writing:
                if await mentions.version_to_link(writing, self.document_id) != self.version:
                    raise _DocumentChanged
                return await work(writing)

        return await retries.while_busy(locked)

    async def store_names(self) -> None:
        """Store the entities of title, metadata and headings. Each transaction stores the headings of some chunks."""
        title, before = await self.write(self._replace_names)
        sections, first = entities_from_documents.Sections(title), 0
        while page := await self._page(first):
            await offload.run(sum(len(chunk.content) for chunk in page), sections.add, page)
            first += len(page)
        found = list(sections.found.items())
        for start in range(0, len(found), HEADINGS):
            some = entities_from_documents.DocumentNames(in_sections=dict(found[start : start + HEADINGS]))
            await self.write(partial(entities_from_documents.store, documents=[some], before=before))

    async def link_slice(self, chunk_nos: Sequence[int], start: int, db: Writing) -> None:
        """Link the chunks of a slice again, and record the progress."""
        some = chunk_nos[start : start + SLICE]
        if not start:  # until these chunks mention them, another document that goes takes them along
            await self._store_names_of_head(db)
        await mention_extraction.relink_chunks(db, some, keys=_keys(self.run))
        progress = {"document": [str(self.document_id), self.version], "done": start + len(some)}
        await self.run.advance(db, unit="chunks", total=len(chunk_nos), **progress)

    async def _replace_names(self, db: Writing) -> tuple[names.Name | None, mentions.LinkedNames]:
        """Replace the names of title and metadata, and delete the headings.

        Returns the name of the title and the former names.
        """
        before = await mentions.of_documents(db, [self.document_id])
        await titles_and_headings.delete_headings(db, self.document_id)
        title = await self._store_names_of_head(db, before)
        await mentions.prune(db, replace(before, mentioned=frozenset()))
        return title, before

    async def _store_names_of_head(self, db: Writing, before: mentions.LinkedNames | None = None) -> names.Name | None:
        """Store the entities of title and metadata. Returns the name of the title."""
        (head,) = (await mentions.heads(db, [self.document_id])).values()
        title = names.title_name(head.title)
        found = metadata_names.of_document(title, head.metadata, head.extracted, _keys(self.run))
        await entities_from_documents.store(db, [entities_from_documents.DocumentNames(title, found)], before=before)
        return title

    async def _page(self, first: int) -> Sequence[mentions.ChunkText]:
        async with self.run.db.searching(self.run.user_id) as reading:
            return await mentions.chunk_texts(reading, self.document_id, first=first, limit=PAGE)


def _keys(run: Run) -> Sequence[str]:
    return run.services.chunking_options.entity_keys


@dataclass(frozen=True, slots=True)
class _Probe:
    """One form of a name. By each of its `words` an index with folded accents finds every text with the form.

    But a word in `numbers` misses texts in which it is a part of a number with dots.
    """

    form: tuple[str, ...]
    words: tuple[str, ...]
    numbers: frozenset[str]

    def indexed(self, *, without: Collection[str]) -> str:
        """The words as text to analyse, without some numbers; empty if the index cannot tell."""
        found = " ".join(word for word in self.words if word not in self.numbers or word not in without)
        return tsvector_text.index_text(found, "english")


def _probes(key: str, name: str) -> list[_Probe]:
    """A probe for each form of a name, given with its key."""
    found = []
    for form in dict.fromkeys(map(tuple, gazetteer.forms(key, name))):
        numbers = frozenset(word for word in form if _NUMBER.fullmatch(word))
        indexed = {word for word in form if len(word) < names.MAX_WORD_LENGTH and _INDEXED.fullmatch(word)}
        found.append(_Probe(form, tuple(word for word in form if word in numbers | indexed), numbers))
    return found


class _FormFinder:
    """Finds texts with forms of changed names. A name is searched only in the chunks before its change.

    In scripts without spaces a text is found if it contains a word of a name anywhere.
    """

    def __init__(self, probes: Iterable[tuple[_Probe, name_changes.NameChange]]) -> None:
        self._by_word: dict[str, int] = {}
        self._by_pair: dict[tuple[str, str], list[tuple[list[str], int]]] = {}
        self._unspaced, self._before = gazetteer.UnspacedWords(), dict[str, int]()
        for probe, change in probes:
            form, before = probe.form, change.before
            if len(form) == 1:
                self._by_word[form[0]] = max(before, self._by_word.get(form[0], 0))
            else:
                self._by_pair.setdefault((form[0], form[1]), []).append((list(form[2:]), before))
            self._unspaced.replace(change.key, (), [change.name])
            self._before[change.key] = before

    def among(self, texts: Iterable[tuple[int, str]]) -> list[int]:
        """The numbers of the numbered texts that contain a form."""
        return [number for number, text in texts if self._is_in(text, number)]

    def _is_in(self, text: str, number: int) -> bool:
        words = names.words(text)
        if any(self._by_word[word] > number for word in self._by_word.keys() & words):
            return True
        for place, pair in enumerate(itertools.pairwise(words), start=2):
            for rest, before in self._by_pair.get(pair, ()):
                if before > number and words[place : place + len(rest)] == rest:
                    return True
        keys = (key for word in self._unspaced.within(text) for key in self._unspaced.keys[word])
        return any(self._before[key] > number for key in keys)
