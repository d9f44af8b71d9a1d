"""Updates the mentions in stored texts after names were added, changed or removed, as a background job per user.

The chunks that may contain a changed name are matched again with the current names, a slice per transaction, under the
user's lock. Documents that are stored meanwhile are matched with the names of their own transaction. Afterwards every
chunk has the mentions that it would have if it were stored now. See `workers` for how a job survives its worker.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.pipelines.linking import gazetteers, mention_extraction
from app.pipelines.linking.mention_extraction import Excluded
from app.pipelines.running import workers
from app.pipelines.running.services import Services
from app.pipelines.running.workers import ClaimLost, JobKind, Run
from app.store.connection.transactions import Database, Reading, Writing
from app.store.entities import entities, headings, mentions, name_changes, stale_mentions
from app.store.entities.mentions import ChunkText, Mention
from app.store.entities.name_changes import NameChange
from app.store.jobs import jobs
from app.text.names import headings as text_headings
from app.text.names import names
from app.text.names.gazetteer import Gazetteer
from app.text.names.names import Name
from app.text.words import lexical

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
    """Run the jobs of one user and wait for those of other processes; returns the chunks that were matched here."""
    chunks = 0
    while True:
        chunks += await drain(user_id, services)
        async with services.db.shared() as shared:
            if not await jobs.count(shared.as_user(user_id), KIND.name):
                return chunks
        await asyncio.sleep(WAIT_S)


@dataclass(frozen=True, slots=True)
class _Refresh:
    """Names that changed, up to a version, and the chunks to match again.

    `no_metadata` are names that metadata has ceased to give, by the ids of the entities that are derived from them.
    """

    changed: Sequence[NameChange]
    version: int
    chunk_nos: Sequence[int]
    no_metadata: Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class _PlainName:
    """An entity that no metadata names any more: only its capitalised name is matched, or its name in any case."""

    entity_id: UUID
    key: str
    any_case: bool


async def _refresh(run: Run) -> int:
    db, job, keys = run.db, run.job, run.services.chunking_options.entity_keys
    refresh = await _plan(db, job.user_id)
    resumed = job.progress.get("version") == refresh.version
    waiting = [no for no in sorted(refresh.chunk_nos) if not resumed or no > job.progress["after"]]
    for start in range(0, len(waiting), SLICE):
        chunk_nos = waiting[start : start + SLICE]
        await _refresh_slice(db, job.user_id, refresh.no_metadata, chunk_nos, keys)
        done = {"done": start + len(chunk_nos), "total": len(waiting), "unit": "chunks"}
        try:
            async with db.shared() as shared:
                await run.advance(shared, version=refresh.version, after=chunk_nos[-1], **done)
        except ClaimLost:
            return start + len(chunk_nos)
    async with db.writing(job.user_id) as writing:
        await writing.lock()
        await name_changes.mark_followed(writing, refresh.version)
        await run.finish(writing)
    counts = {"chunks": len(waiting), "names": len(refresh.changed)}
    log.info("mentions refreshed", extra={"action": "mentions_refreshed", **counts})
    return len(waiting)


KIND = JobKind(name_changes.JOB, _refresh, queue="mentions", is_cancellable=False, kept=0)


async def _plan(db: Database, user_id: str) -> _Refresh:
    """The changed names, and the chunks that may contain them."""
    async with db.reading(user_id) as reading:
        version = await name_changes.version(reading)
        changed = await name_changes.pending(reading, version)
        gazetteer = (await gazetteers.current(reading)).gazetteer
        lowered = {_derived_id(change.key): change.key for change in changed if change.lowered}
        lost = _without_metadata(lowered, gazetteer)
        no_metadata = {entity: lost[entity] for entity in await entities.origins(reading, list(lost))}
        chunk_nos = await _chunks_to_match(reading, changed)
    return _Refresh(changed, version, chunk_nos, no_metadata)


def _without_metadata(keys: Mapping[UUID, str], gazetteer: Gazetteer) -> dict[UUID, str]:
    """Those of the entities, by id with the key of their name, that no metadata names."""
    return {
        entity: key for entity, key in keys.items() if not mention_extraction.is_metadata_entity(key, entity, gazetteer)
    }


async def _chunks_to_match(db: Reading, changed: Sequence[NameChange]) -> Sequence[int]:
    """The numbers of the chunks that may contain a changed name; all chunks if the index cannot tell."""
    probes = [_probes(change.key) for change in changed[: MAX_NAMES + 1]]
    found = None
    if len(changed) <= MAX_NAMES and all(probes):
        found = await stale_mentions.chunks_with_names(db, list(itertools.chain(*probes)))
    if found is None:
        return await stale_mentions.chunks(db)
    linked = await stale_mentions.linked_chunks(db, [_derived_id(change.key) for change in changed])
    return [*{*found, *linked}]


def _probes(key: str) -> list[str]:
    """A name's words, and the words joined, as index text; none if the index may split the name differently."""
    words = [word for word in key.split(" ") if word.isalpha() and 2 <= len(word) < names.MAX_WORD_LENGTH]
    if not words:
        return []
    joined = key.replace(" ", "")
    return [lexical.index_text(text, "english") for text in dict.fromkeys([" ".join(words), joined])]


def _derived_id(key: str) -> UUID:
    """The id of the entity that is derived from a name."""
    return Name(key, key).entity_id


async def _refresh_slice(
    db: Database, user_id: str, no_metadata: Mapping[UUID, str], chunk_nos: Sequence[int], keys: Sequence[str]
) -> None:
    async with db.writing(user_id) as writing:
        await writing.lock()
        gazetteer = (await gazetteers.current(writing)).gazetteer
        plain = await _plain_names(writing, _without_metadata(no_metadata, gazetteer))
        plain_ids = [name.entity_id for name in plain]
        chunks = await mentions.chunk_texts_of(writing, chunk_nos)
        documents = {chunk.document_id for chunk in chunks}
        with_ids = await mentions.metadata_with_ids(writing, documents)
        excluded = {one: mention_extraction.excluded(found, gazetteer, keys) for one, found in with_ids.items()}
        wanted = await asyncio.to_thread(_wanted, chunks, _Names(gazetteer, plain, excluded), keys)
        stored = await stale_mentions.stored_mentions(writing, chunk_nos, besides=plain_ids)
        old = [mention for mention in stored if mention not in wanted]
        new = sorted(wanted - stored.keys(), key=_order)
        await stale_mentions.replace_mentions(writing, old=old, new=new)
        unsure = {mention.entity_id for mention in old if stored[mention] != "user"}
        await mentions.prune(writing, sorted(unsure.union(plain_ids)))


async def _plain_names(db: Writing, lost: Mapping[UUID, str]) -> list[_PlainName]:
    """The stored entities among `lost`, each with how its name is matched."""
    if not lost:
        return []
    several_words = [entity for entity, key in lost.items() if text_headings.matches_any_case(Name(key, key))]
    heading = await headings.heading_entities(db, several_words)
    origins = await entities.origins(db, list(lost))
    return [
        _PlainName(entity, lost[entity], origin == "title" or entity in heading) for entity, origin in origins.items()
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
    sequences = names.sequences(chunk.content)
    capitalised = {name.key: name.count for name in names.find(chunk.content)}
    counts = {name.entity_id: sequences[name.key] if name.any_case else capitalised.get(name.key, 0) for name in plain}
    return Counter({entity: count for entity, count in counts.items() if count})


def _order(mention: Mention) -> tuple[UUID, int, str]:
    return mention.entity_id, mention.chunk_no, mention.kind
