"""Which names does a stored document hold, and who else mentions its title?

Runs in the transaction that stores the document, under the user's lock. Documents that were stored before, or read by
older rules, are read by `backfill`, one transaction each, so that it can be interrupted and goes on where it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from app.shapes import IndexText
from app.store import mentions
from app.store.db import Database, Writing
from app.store.mentions import Mention, Named, Place
from app.text import lexical, names
from app.text.names import Name

log = logging.getLogger(__name__)

SLICE = 64
"""Chunks that are read at once."""
BATCH = 500
"""Documents that the backfill takes up at once."""
FOLDING, KEEPING = "english", "german"
_Read = list[tuple[Place, list[Name], dict[str, int]]]


async def link(db: Writing, user_id: str, document_id: UUID) -> None:
    """Store the names in a document's chunks, and its title as a name, as mentions."""
    title = names.of_title(await mentions.begin(db, user_id, document_id, version=names.VERSION) or "")
    if title is not None:
        await _link_title(db, user_id, document_id, title)
    offset = 0
    while places := await mentions.places(db, user_id, document_id, limit=SLICE, offset=offset):
        read = await asyncio.to_thread(_read, places)
        await _link_slice(db, user_id, read, title)
        offset += SLICE


async def backfill(db: Database) -> int:
    """Read the names of all documents that lack them, as the database's owner; returns how many there were."""
    done = 0
    while True:
        async with db.shared() as connection:
            unread = await mentions.unread(connection, version=names.VERSION, limit=BATCH)
        if not unread:
            return done
        for user_id, document_id in unread:
            async with db.writing(user_id) as writing:
                await mentions.lock(writing, user_id)
                await link(writing, user_id, document_id)
        done += len(unread)
        log.info("names read", extra={"action": "names_read", "documents": done})


def _read(places: Sequence[Place]) -> _Read:
    return [(place, names.find(place.content), names.sequences(place.content)) for place in places]


async def _link_title(db: Writing, user_id: str, document_id: UUID, title: Name) -> None:
    """Make the title a name that is matched everywhere, and link the chunks that held it before."""
    is_new = not await mentions.is_matched(db, user_id, title.entity_id)
    await mentions.ensure(db, user_id, [_named(title)], origin="title")
    if not is_new:
        return
    phrase = IndexText(lexical.index_text(title.text, FOLDING), lexical.index_text(title.text, KEEPING))
    places = await mentions.holding(db, user_id, phrase, besides=document_id)
    counts = [(place, names.sequences(place.content)[title.key]) for place in places]
    found = [Mention(title.entity_id, p.chunk_no, p.document_id, "text", count) for p, count in counts if count]
    await mentions.add(db, user_id, found)


async def _link_slice(db: Writing, user_id: str, read: _Read, title: Name | None) -> None:
    distinct = {name.key: _named(name) for _place, found, _sequences in read for name in found}
    await mentions.ensure(db, user_id, list(distinct.values()), origin="text")
    matched = await mentions.known(db, user_id, {key for _p, _f, sequences in read for key in sequences})
    found: dict[tuple[UUID, int, str], Mention] = {}
    for place, standing, sequences in read:
        counts = {name.entity_id: name.count for name in standing}
        counts |= {entity: sequences[key] for key in matched.keys() & sequences.keys() for entity in matched[key]}
        kinds = [(entity, "text", count) for entity, count in counts.items()]
        kinds += [(title.entity_id, "title", 1)] if title else []
        for entity, kind, count in kinds:
            found[entity, place.chunk_no, kind] = Mention(entity, place.chunk_no, place.document_id, kind, count)
    await mentions.add(db, user_id, [found[key] for key in sorted(found)])


def _named(name: Name) -> Named:
    return Named(name.entity_id, name.key, name.text)
