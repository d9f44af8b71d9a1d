"""Finds the entities that are titles of documents, and tells those that other texts use as names."""

from __future__ import annotations

from collections.abc import Iterable, Set
from uuid import UUID

from app.database import sql
from app.database.transactions import Reading, Writing
from app.entities.store import headings
from app.text.names import headings as text_headings
from app.text.names import names

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


async def given(db: Reading, entity_ids: Iterable[UUID], *, several: Set[UUID]) -> set[UUID]:
    """The entities among these for whose names texts are searched: those of titles, and of headings of several words.

    `several` are those among these whose names have several words.
    """
    found = set(await db.scalars(_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)}))
    return found | await headings.heading_entities(db, list(several - found))


_USED_TITLES = sql.inline(
    """
    SELECT e.entity_id, t.title
    FROM unnest(:entity_ids) AS g (entity_id)
    CROSS JOIN LATERAL (
        SELECT o.entity_id, o.origin FROM stepwell.entities AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id LIMIT 1
    ) AS e
    CROSS JOIN LATERAL (
        SELECT min(d.title COLLATE "C") AS title
        FROM (SELECT DISTINCT m.document_id FROM stepwell.mentions AS m
              WHERE m.user_id = :user_id AND m.entity_id = e.entity_id AND m.kind = 'title' OFFSET 0) AS m
        CROSS JOIN LATERAL (
            SELECT o.title FROM stepwell.documents AS o
            WHERE o.user_id = :user_id AND o.document_id = m.document_id LIMIT 1
        ) AS d
    ) AS t
    WHERE e.origin = 'text' AND {{used_as_name e}}
    """,
    user_id="text",
    entity_ids="uuid[]",
)
_NAME_TITLES = sql.inline(
    """
    UPDATE stepwell.entities AS e SET origin = 'title', name = g.name
    FROM unnest(:entity_ids, :names) AS g (entity_id, name)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id
    """,
    user_id="text",
    entity_ids="uuid[]",
    names="text[]",
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
    """Give the origin `title` to those of the entities that are titles and are used as names in other texts.

    They are spelt as the title is, and not as the text that contained them first.
    """
    binds = {"user_id": db.user_id, "entity_ids": list(entity_ids)}
    found = [(row.entity_id, names.title_name(row.title)) for row in await db.execute(_USED_TITLES, binds)]
    used = [(entity_id, name.text) for entity_id, name in found if name and not text_headings.is_general(name.text)]
    if used:
        ids, texts = zip(*used, strict=True)
        await db.execute(_NAME_TITLES, {"user_id": db.user_id, "entity_ids": list(ids), "names": list(texts)})


async def disuse(db: Writing, entity_ids: Iterable[UUID]) -> None:
    """Take the origin `title` from those of the entities that other texts do not use as names any more."""
    await db.execute(_LOWER_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)})
