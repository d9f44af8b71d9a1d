"""Finds the chunks to link again after names have changed, and replaces their mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.store.connection import sql
from app.store.connection.transactions import Reading, Writing
from app.store.entities import mentions
from app.store.entities.mentions import Mention
from app.store.schema import tables

_c = tables.chunks.c
_m = tables.mentions.c


async def chunks_with_names(db: Reading, names: Sequence[str]) -> list[int] | None:
    """The chunks that may contain one of these names (words as indexed); None if any chunk may."""
    if not names:
        return []
    rows = await db.execute(sql.statement("chunks_containing_words"), {"user_id": db.user_id, "names": list(names)})
    chunk_nos = list(rows.scalars())
    return None if None in chunk_nos else chunk_nos


async def linked_chunks(db: Reading, entity_ids: Sequence[UUID]) -> list[int]:
    """The chunks that are linked to one of these entities by metadata or title."""
    query = (
        sa.select(_m.chunk_no)
        .distinct()
        .where(_m.user_id == db.user_id, _m.entity_id == _any(entity_ids, sa.Uuid), _m.kind != "text")
    )
    return list(await db.scalars(query))


async def chunks(db: Reading) -> list[int]:
    """The numbers of all of the user's chunks."""
    return list(await db.scalars(sa.select(_c.chunk_no).where(_c.user_id == db.user_id)))


async def stored_mentions(db: Reading, chunk_nos: Sequence[int], *, besides: Iterable[UUID]) -> dict[Mention, str]:
    """The mentions in the chunks of entities that are matched in texts, and of those in `besides`, with origin.

    Mentions of every kind for the user's own entities, of the kind text for the others.
    """
    binds = {"chunk_nos": list(chunk_nos), "besides": list(besides)}
    rows = await db.execute(sql.statement("stored_mentions"), {"user_id": db.user_id, **binds})
    return {Mention(*row[:5]): row.origin for row in rows}


_DELETE_MENTIONS = sql.inline(
    """
    DELETE FROM stepwell.mentions AS m
    USING unnest(:entity_ids, :chunk_nos, :kinds) AS g (entity_id, chunk_no, kind)
    WHERE m.user_id = :user_id AND m.entity_id = g.entity_id AND m.chunk_no = g.chunk_no AND m.kind = g.kind
    """,
    user_id="text",
    entity_ids="uuid[]",
    chunk_nos="bigint[]",
    kinds="text[]",
)


async def replace_mentions(db: Writing, *, old: Sequence[Mention], new: Sequence[Mention]) -> None:
    """Delete old mentions and add new ones."""
    if old:
        binds = {
            "entity_ids": [mention.entity_id for mention in old],
            "chunk_nos": [mention.chunk_no for mention in old],
            "kinds": [mention.kind for mention in old],
        }
        await db.execute(_DELETE_MENTIONS, {"user_id": db.user_id, **binds})
    await mentions.add(db, new)


def _any(values: Sequence[Any], kind: Any) -> Any:
    return sa.any_(sa.literal(list(values), sa.ARRAY(kind)))
