"""Links stored texts again after an entity was added, renamed or removed.

A job of each user whose names changed: chunks that may hold a changed name are read again with the names of now, a
slice in a transaction, under the user's lock. What comes in meanwhile is read with the names of its own moment, so that
in the end every chunk mentions what it would mention if it were stored now. A job that dies is taken up by another.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from app import errors
from app.pipelines import gazetteers, mention_extraction
from app.store import headings, jobs, mentions, name_changes, stale_mentions
from app.store.db import Database, Writing
from app.store.jobs import Job
from app.store.mentions import ChunkText, Mention
from app.store.name_changes import NameChange
from app.text import headings as sections
from app.text import lexical, names
from app.text.gazetteer import Gazetteer
from app.text.names import Name

log = logging.getLogger(__name__)

SLICE = 256
"""Chunks that are read again in one transaction."""
MOST_NAMES = 200
"""Changed names up to which the chunks that may hold them are looked up; after more, all are read."""
LEASE_S = 60.0
RETRY_S = 5.0
IDLE_S = 1.0
"""How long a worker that found nothing to do waits before it looks again."""
Counted = Callable[[int], None]


async def run_forever(db: Database, *, keys: Sequence[str], counted: Counted) -> None:
    """Do whatever waits, for ever; `counted` is told after each job how many chunks were read again."""
    while True:
        await asyncio.sleep(IDLE_S)
        try:
            while (done := await run_next(db, keys=keys)) is not None:
                counted(done)
        except errors.StepwellError as error:
            log.warning("relinking waits: %s", error.code, extra={"action": "relink_waits"})
        except Exception:
            log.exception("relinking failed", extra={"action": "relink_failed"})


async def drain(db: Database, user_id: str, *, keys: Sequence[str]) -> int:
    """Do what waits for one user now; returns how many chunks were read again."""
    read = 0
    while (done := await run_next(db, keys=keys, user_id=user_id)) is not None:
        read += done
    return read


async def settle(db: Database, user_id: str, *, keys: Sequence[str]) -> int:
    """Do what waits for one user, and wait for what another process has begun; returns the chunks read again here."""
    read = 0
    while True:
        read += await drain(db, user_id, keys=keys)
        async with db.shared() as shared:
            if not await jobs.count(shared, user_id, name_changes.JOB):
                return read
        await asyncio.sleep(IDLE_S / 5)


async def run_next(db: Database, *, keys: Sequence[str], user_id: str | None = None) -> int | None:
    """Do the job that has waited longest; returns how many chunks were read again, None where no job waits.

    A job that fails waits for another attempt, and what made it fail is raised.
    """
    async with db.shared() as shared:
        job = await jobs.claim(shared, kinds=[name_changes.JOB], lease_s=LEASE_S, user_id=user_id)
    if job is None:
        return None
    try:
        return await _relink(db, job, keys)
    except asyncio.CancelledError:
        with suppress(errors.StepwellError):
            async with db.shared() as shared:
                await jobs.release(shared, job)
        raise
    except Exception as error:
        async with db.shared() as shared:
            await jobs.retry_later(shared, job, error=type(error).__name__, after_s=RETRY_S)
        raise


@dataclass(frozen=True, slots=True)
class _Refresh:
    """Names that changed, up to a version, and the chunks that have to be read again.

    `alone` are names that metadata gave and gives no more, by the entities that they alone make.
    """

    changed: Sequence[NameChange]
    version: int
    chunk_nos: Sequence[int]
    alone: dict[UUID, str]


async def _relink(db: Database, job: Job, keys: Sequence[str]) -> int:
    work_ = await _found(db, job.user_id)
    resumed = job.progress.get("version") == work_.version
    waiting = [no for no in sorted(work_.chunk_nos) if not resumed or no > job.progress["after"]]
    for start in range(0, len(waiting), SLICE):
        chunk_nos = waiting[start : start + SLICE]
        await _relink_slice(db, job.user_id, work_.alone, chunk_nos, keys)
        progress = {"version": work_.version, "after": chunk_nos[-1], "done": start + len(chunk_nos)}
        async with db.shared() as shared:
            if not await jobs.renew(shared, job, progress=progress, lease_s=LEASE_S):
                return start + len(chunk_nos)
    async with db.writing(job.user_id) as writing:
        await mentions.lock(writing, job.user_id)
        await name_changes.mark_followed(writing, job.user_id, work_.version)
        await jobs.finish(writing, job)
        await jobs.delete_finished(writing, job.user_id, job.kind)
    log.info("texts linked anew", extra={"action": "relinked", "chunks": len(waiting), "names": len(work_.changed)})
    return len(waiting)


async def _found(db: Database, user_id: str) -> _Refresh:
    """What has changed, and where it may stand."""
    async with db.reading(user_id) as reading:
        version = await name_changes.version(reading, user_id)
        changed = await name_changes.pending(reading, user_id, version)
        known = (await gazetteers.current(reading, user_id)).gazetteer
        ids = {_automatic(change.key): change.key for change in changed if change.lowered}
        lost = {
            entity: key for entity, key in ids.items() if not mention_extraction.is_metadata_entity(key, entity, known)
        }
        alone = {entity: lost[entity] for entity in await stale_mentions.origins(reading, user_id, list(lost))}
        probes = [_probes(change.key) for change in changed[: MOST_NAMES + 1]]
        found = None
        if len(changed) <= MOST_NAMES and all(probes):
            found = await stale_mentions.chunks_with_names(reading, user_id, list(itertools.chain(*probes)))
        if found is None:
            return _Refresh(changed, version, await stale_mentions.chunks(reading, user_id), alone)
        tagged = await stale_mentions.linked_chunks(reading, user_id, [_automatic(change.key) for change in changed])
        return _Refresh(changed, version, [*{*found, *tagged}], alone)


def _probes(key: str) -> list[str]:
    """A name's words, and its joined form, as the index reads them; none where the index may cut them otherwise."""
    told = [word for word in key.split(" ") if word.isalpha() and 2 <= len(word) < names.MAX_WORD_LENGTH]
    joined = key.replace(" ", "")
    return [lexical.index_text(text, "english") for text in dict.fromkeys([" ".join(told), joined])] if told else []


def _automatic(key: str) -> UUID:
    """The id of the entity that a name alone makes."""
    return Name(key, key).entity_id


async def _relink_slice(
    db: Database, user_id: str, alone: dict[UUID, str], chunk_nos: Sequence[int], keys: Sequence[str]
) -> None:
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        known = (await gazetteers.current(writing, user_id)).gazetteer
        lowered = await _lowered(writing, user_id, alone, known)
        places = await mentions.chunk_texts_of(writing, user_id, chunk_nos)
        wanted = await asyncio.to_thread(_wanted, places, known, lowered, keys)
        standing = await stale_mentions.stored_mentions(
            writing, user_id, chunk_nos, besides=[entity for entity, _ in lowered]
        )
        old = [mention for mention in standing if mention not in wanted]
        await stale_mentions.replace_mentions(
            writing, user_id, old=old, new=sorted(wanted - standing.keys(), key=_order)
        )
        unsure = {mention.entity_id for mention in old if standing[mention] != "user"}
        await mentions.prune(writing, user_id, sorted(unsure | {entity for entity, _ in lowered}))


async def _lowered(db: Writing, user_id: str, alone: dict[UUID, str], known: Gazetteer) -> dict[tuple[UUID, str], bool]:
    """Those of the entities that names alone make, which still nobody gives, with key and whether in any case."""
    lost = {
        entity: key for entity, key in alone.items() if not mention_extraction.is_metadata_entity(key, entity, known)
    }
    if not lost:
        return {}
    several = [entity for entity, key in lost.items() if sections.matches_any_case(Name(key, key))]
    heading = await headings.heading_entities(db, user_id, several)
    origins = await stale_mentions.origins(db, user_id, list(lost))
    return {(entity, lost[entity]): origin == "title" or entity in heading for entity, origin in origins.items()}


def _wanted(
    places: Sequence[ChunkText], known: Gazetteer, lowered: dict[tuple[UUID, str], bool], keys: Sequence[str]
) -> set[Mention]:
    """What the chunks would mention of these entities if they were stored now."""
    found: dict[tuple[UUID, int, str], Mention] = {}
    for place in places:
        counts = mention_extraction.text_mentions(place, known) + (_plainly(place, lowered) if lowered else Counter())
        new = [Mention(e, place.chunk_no, place.document_id, "text", count) for e, count in counts.items()]
        for mention in (*new, *mention_extraction.document_mentions(place, known, keys)):
            found[mention.entity_id, mention.chunk_no, mention.kind] = mention
    return set(found.values())


def _plainly(place: ChunkText, lowered: dict[tuple[UUID, str], bool]) -> Counter[UUID]:
    """How often a chunk holds names, in any case or written large."""
    sequences = names.sequences(place.content)
    large = {name.key: name.count for name in names.find(place.content)}
    counts = {
        entity: sequences[key] if in_any_case else large.get(key, 0) for (entity, key), in_any_case in lowered.items()
    }
    return Counter({entity: count for entity, count in counts.items() if count})


def _order(mention: Mention) -> tuple[UUID, int, str]:
    return mention.entity_id, mention.chunk_no, mention.kind
