"""Updates the mentions in stored texts after names were added, changed or removed, as a background job per user.

Names are those of the user and of metadata, and also the titles and headings whose texts `name_links` has not linked
completely, or that have ceased to be titles and headings. The chunks that may contain a changed name are matched again
with the current names, a slice per transaction, under the user's lock. Documents that are stored meanwhile are matched
with the names of their own transaction. Afterwards every chunk has the mentions that it would have if it were stored
now. See `workers` for how a job survives its worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.pipelines.linking import gazetteers, mention_extraction
from app.pipelines.linking.mention_extraction import Excluded
from app.pipelines.running import retries, workers
from app.pipelines.running.services import Services
from app.pipelines.running.workers import ClaimLost, JobKind, Run
from app.store.connection.transactions import Database, Reading, Writing
from app.store.entities import entities, headings, mentions, name_changes, stale_mentions
from app.store.entities.mentions import ChunkText, LinkedNames, Mention, NameEntity
from app.store.entities.name_changes import NameChange
from app.store.entities.stale_mentions import NameWords
from app.store.jobs import jobs
from app.text.names import name_probes, names
from app.text.names.gazetteer import Gazetteer
from app.text.names.names import Name

log = logging.getLogger(__name__)

SLICE = 256
"""Chunks that are matched in one transaction."""
MAX_NAMES = 200
"""Changed names up to which the chunks that may contain them are looked up; for more, all chunks are matched."""
WAIT_S = 0.2
"""Pause between two looks at the jobs of other processes."""


async def drain(user_id: str, services: Services) -> int:
    """Run the waiting jobs of one user; returns the number of chunks that were matched."""
    chunks = 0
    while (ran := await workers.run_next(services, [KIND], user_id=user_id)) is not None:
        chunks += ran[1]
    return chunks


async def settle(user_id: str, services: Services) -> int:
    """Run the jobs of one user and wait for those of other processes; returns the chunks that were matched here.

    Changes whose job has failed get another one.
    """
    chunks = 0
    async with services.db.reading(user_id) as reading:
        unfollowed = await name_changes.pending(reading, await name_changes.version(reading))
        is_followed = not unfollowed or await jobs.count(reading, KIND.name)
    if not is_followed:
        async with services.db.writing(user_id) as writing:
            await writing.lock()
            await jobs.enqueue(writing, KIND.name)
    while True:
        chunks += await drain(user_id, services)
        async with services.db.shared() as shared:
            if not await jobs.count(shared.as_user(user_id), KIND.name):
                return chunks
        await asyncio.sleep(WAIT_S)


@dataclass(frozen=True, slots=True)
class _Refresh:
    """Names that changed, up to a version, and the chunks to match again.

    `automatic` are the names whose automatic entities are matched too, by the ids of these.
    """

    changed: Sequence[NameChange]
    version: int
    chunk_nos: Sequence[int]
    automatic: Mapping[UUID, NameChange]


@dataclass(frozen=True, slots=True)
class _PlainName:
    """An entity that no metadata names: its name is matched where it is capitalised, or in any case."""

    entity_id: UUID
    key: str
    text: str
    any_case: bool


async def _refresh(run: Run) -> int:
    db, job, keys = run.db, run.job, run.services.chunking_options.entity_keys
    refresh = await _plan(db, job.user_id)
    resumed = job.progress.get("version") == refresh.version
    waiting = [no for no in sorted(refresh.chunk_nos) if not resumed or no > job.progress["after"]]
    for start in range(0, len(waiting), SLICE):
        chunk_nos = waiting[start : start + SLICE]
        await retries.while_busy(_refresh_slice, db, job.user_id, refresh.automatic, chunk_nos, keys)
        done = {"done": start + len(chunk_nos), "total": len(waiting), "unit": "chunks"}
        try:
            async with db.shared() as shared:
                await run.advance(shared, version=refresh.version, after=chunk_nos[-1], **done)
        except ClaimLost:
            return start + len(chunk_nos)
    await retries.while_busy(_finish, run, refresh.version)
    counts = {"chunks": len(waiting), "names": len(refresh.changed)}
    log.info("mentions refreshed", extra={"action": "mentions_refreshed", **counts})
    return len(waiting)


async def _finish(run: Run, version: int) -> None:
    async with run.db.writing(run.user_id) as writing:
        await writing.lock()
        await name_changes.mark_followed(writing, version)
        await run.finish(writing)


KIND = JobKind(name_changes.JOB, _refresh, queue="mentions", is_cancellable=False, kept=0)


async def _plan(db: Database, user_id: str) -> _Refresh:
    """The changed names, and the chunks that may contain them."""
    async with db.reading(user_id) as reading:
        version = await name_changes.version(reading)
        changed = await name_changes.pending(reading, version)
        chunk_nos = await _chunks_to_match(reading, changed)
    automatic = {_derived_id(change.key): change for change in changed if change.automatic}
    return _Refresh(changed, version, chunk_nos, automatic)


async def _chunks_to_match(db: Reading, changed: Sequence[NameChange]) -> Sequence[int]:
    """The numbers of the chunks that may contain a changed name; all chunks if the index cannot tell."""
    if len(changed) > MAX_NAMES:
        return await stale_mentions.chunks(db)
    probes = [probe for change in changed for probe in name_probes.probes(change.key, change.name)]
    indexed, others = [one for one in probes if one.indexed], [one for one in probes if not one.indexed]
    words = NameWords(
        [probe.indexed for probe in indexed], [probe.word for probe in indexed], [probe.word for probe in others]
    )
    found = await stale_mentions.chunks_with_names(db, words)
    if found is None:
        return await stale_mentions.chunks(db)
    linked = await stale_mentions.linked_chunks(db, [_derived_id(change.key) for change in changed])
    return [*{*found, *linked}]


def _derived_id(key: str) -> UUID:
    """The id of the entity that is derived from a name."""
    return Name(key, key).entity_id


async def _refresh_slice(
    db: Database, user_id: str, automatic: Mapping[UUID, NameChange], chunk_nos: Sequence[int], keys: Sequence[str]
) -> None:
    async with db.writing(user_id) as writing:
        await writing.lock()
        gazetteer = (await gazetteers.current(writing)).gazetteer
        plain = await _plain_names(writing, automatic, gazetteer)
        plain_ids = [name.entity_id for name in plain]
        chunks = await mentions.chunk_texts_of(writing, chunk_nos)
        documents = {chunk.document_id for chunk in chunks}
        with_ids = await mentions.metadata_with_ids(writing, documents)
        excluded = {one: mention_extraction.excluded(found, gazetteer, keys) for one, found in with_ids.items()}
        wanted = await asyncio.to_thread(_wanted, chunks, _Names(gazetteer, plain, excluded), keys)
        stored = await stale_mentions.stored_mentions(writing, chunk_nos, besides=plain_ids)
        old = [mention for mention in stored if mention not in wanted]
        new = sorted(wanted - stored.keys(), key=_order)
        mentioned = {mention.entity_id for mention in new}
        named = [NameEntity(name.entity_id, name.key, name.text) for name in plain if name.entity_id in mentioned]
        await mentions.ensure(writing, named, origin="text")
        await stale_mentions.replace_mentions(writing, old=old, new=new)
        unsure = {mention.entity_id for mention in old if stored[mention] != "user"}
        await mentions.prune(writing, LinkedNames(frozenset(unsure.union(plain_ids))))


async def _plain_names(db: Writing, automatic: Mapping[UUID, NameChange], gazetteer: Gazetteer) -> list[_PlainName]:
    """Those of the names that no metadata gives, each with how it is matched; not all of them have an entity."""
    found = {
        entity: change
        for entity, change in automatic.items()
        if not mention_extraction.is_metadata_entity(change.key, entity, gazetteer)
    }
    if not found:
        return []
    several_words = [entity for entity, change in found.items() if " " in change.key]
    heading = await headings.heading_entities(db, several_words)
    origins = await entities.origins(db, list(found))
    return [
        _PlainName(entity, change.key, change.name, origins.get(entity) == "title" or entity in heading)
        for entity, change in found.items()
    ]


@dataclass(frozen=True, slots=True)
class _Names:
    """The names that chunks are matched with; `excluded` are the namesakes that some documents do not mean."""

    gazetteer: Gazetteer
    plain: Sequence[_PlainName]
    excluded: Mapping[UUID, Excluded]


def _wanted(chunks: Sequence[ChunkText], known: _Names, keys: Sequence[str]) -> set[Mention]:
    """The mentions that the chunks would have, of entities of the gazetteer and of plain names, if stored now."""
    found: dict[tuple[UUID, int, str], Mention] = {}
    for chunk in chunks:
        without = known.excluded.get(chunk.document_id, frozenset())
        counts = mention_extraction.text_mentions(chunk, known.gazetteer, without) + _counts(chunk, known.plain)
        new = [Mention(entity, chunk.chunk_no, chunk.document_id, "text", count) for entity, count in counts.items()]
        for mention in (*new, *mention_extraction.document_mentions(chunk, known.gazetteer, keys)):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return set(found.values())


def _counts(chunk: ChunkText, plain: Sequence[_PlainName]) -> Counter[UUID]:
    """How often a chunk contains each name, in any case or capitalised."""
    if not plain:
        return Counter()
    words = names.words(chunk.content)
    counted = names.sequences_after({" ".join(name.key.split(" ")[:2]) for name in plain}, words)
    occurring = [name for name in plain if counted[name.key]]
    capitalised: dict[str, int] = {}
    if not all(name.any_case for name in occurring):
        capitalised = {name.key: name.count for name in names.find(chunk.content)}
    counts = {
        name.entity_id: counted[name.key] if name.any_case else capitalised.get(name.key, 0) for name in occurring
    }
    return Counter({entity: count for entity, count in counts.items() if count})


def _order(mention: Mention) -> tuple[UUID, int, str]:
    return mention.entity_id, mention.chunk_no, mention.kind
