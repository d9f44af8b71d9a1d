"""Finds the entities that are titles of documents, and tells those that other texts use as names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.entities.store import headings
from app.text.names import headings as text_headings

_e = tables.entities.c

_TITLES = sql.inline(
    """
    SELECT g.entity_id
    FROM unnest(:entity_ids) AS g (entity_id)
    CROSS JOIN LATERAL (
        SELECT FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id AND o.kind = 'title' LIMIT 1
    ) AS t
    """,
    user_id="text",
    entity_ids="uuid[]",
)


async def find(db: Reading, entity_ids: Sequence[UUID]) -> set[UUID]:
    """The entities among these whose names are titles of documents."""
    return set(await db.scalars(_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)}))


async def given(db: Reading, entity_ids: Sequence[UUID]) -> set[UUID]:
    """The entities among these whose names are titles or headings of documents."""
    return await find(db, entity_ids) | await headings.heading_entities(db, entity_ids)


_USED_TITLES = sql.inline(
    """
    SELECT e.entity_id, e.name
    FROM unnest(:entity_ids) AS g (entity_id)
    CROSS JOIN LATERAL (
        SELECT o.entity_id, o.name, o.origin FROM stepwell.entities AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id LIMIT 1
    ) AS e
    WHERE e.origin = 'text' AND {{used_as_name e}}
    """,
    user_id="text",
    entity_ids="uuid[]",
)
_LOWER_TITLES = sql.inline(
    """
    UPDATE stepwell.entities AS e SET origin = 'text'
    FROM unnest(:entity_ids) AS g (entity_id)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'title'
      AND ({{used_as_name e}}) IS NOT TRUE
    """,
    user_id="text",
    entity_ids="uuid[]",
)


async def use(db: Writing, entity_ids: Iterable[UUID]) -> None:
    """Give the origin `title` to those of the entities that are titles and are used as names in other texts."""
    binds = {"user_id": db.user_id, "entity_ids": list(entity_ids)}
    used = [e.entity_id for e in await db.execute(_USED_TITLES, binds) if not text_headings.is_general(e.name)]
    if used:
        named = sa.update(tables.entities).where(_e.user_id == db.user_id, _e.entity_id.in_(used))
        await db.execute(named.values(origin="title"))


async def disuse(db: Writing, entity_ids: Iterable[UUID]) -> None:
    """Take the origin `title` from those of the entities that other texts do not use as names any more."""
    await db.execute(_LOWER_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)})
