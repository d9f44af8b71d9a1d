"""Finds the chunks to link again after names have changed, and replaces their mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words by which the chunks are found that may contain some names.

    Attributes:
        indexed: Words as indexed in English, of which a chunk with the name has all.
        accented: Words to search for in the texts of languages whose index keeps accents.
        anywhere: Words to search for in all texts.
    """

    indexed: Sequence[str]
    accented: Sequence[str]
    anywhere: Sequence[str]


async def chunks_with_names(db: Reading, words: NameWords) -> list[int] | None:
    """The chunks that may contain one of some names; None if any chunk may."""
    searched = words.anywhere or await _has_accented_texts(db)
    statement = sql.statement("chunks_containing_words", *(("elsewhere",) if searched else ()))
    binds: dict[str, Any] = {"user_id": db.user_id, "names": list(words.indexed)}
    if searched:
        binds |= {"accented": list(words.accented), "anywhere": list(words.anywhere)}
    chunk_nos = list((await db.execute(statement, binds)).scalars())
    return None if None in chunk_nos else chunk_nos


async def _has_accented_texts(db: Reading) -> bool:
    """Whether the user has chunks in a language whose index keeps accents."""
    s = tables.text_statistics.c
    query = sa.select(s.config).where(s.user_id == db.user_id, s.chunks > 0, s.config.not_in(("english", "simple")))
    return await db.scalar(query.limit(1)) is not None


async def linked_chunks(db: Reading, entity_ids: Sequence[UUID]) -> list[int]:
    """The chunks that are linked to one of these entities."""
    among = _m.entity_id == _any(entity_ids, sa.Uuid)
    return list(await db.scalars(sa.select(_m.chunk_no).distinct().where(_m.user_id == db.user_id, among)))


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
