"""Stores which chunks lie under a heading that is the name of an entity, and finds entities that are titles.

A heading names its section like a title names its document. But a heading is not a mention: it does not link the
document to the entity, is never listed, and does not guide a search. A title is a mention of kind `title`, and is
listed once other texts use it as a name. Every change requires the user's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.text.names import names

_h = tables.headings.c
_e = tables.entities.c


@dataclass(frozen=True, slots=True)
class HeadingChunk:
    """A chunk in a section headed by an entity's name; `section_no` is the number of the section's first chunk."""

    entity_id: UUID
    section_no: int
    chunk_no: int
    document_id: UUID


async def delete_headings(db: Writing, document_id: UUID) -> None:
    """Delete the headings of a document."""
    await db.execute(sa.delete(tables.headings).where(_h.user_id == db.user_id, _h.document_id == document_id))


async def add_headings(db: Writing, found: Iterable[HeadingChunk]) -> None:
    """Store headings, at least one. Their entities must exist."""
    await db.execute(sa.insert(tables.headings), [{"user_id": db.user_id, **asdict(one)} for one in found])


async def headings_of(db: Reading, document_ids: Sequence[UUID]) -> frozenset[UUID]:
    """The entities whose names are headings of documents."""
    own = (_h.user_id == db.user_id, sql.among(_h.document_id, document_ids))
    return frozenset(await db.scalars(sa.select(_h.entity_id).distinct().where(*own)))


def is_heading(user_id: str) -> sa.Exists:
    """The SQL condition that a name of an entity row is a heading."""
    return sa.select(_h.entity_id).where(_h.user_id == user_id, _h.entity_id == _e.entity_id).exists()


_TITLES = sql.inline(
    """
    SELECT g.entity_id
    FROM unnest(:entity_ids::uuid[]) AS g (entity_id)
    CROSS JOIN LATERAL (
        SELECT FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id AND o.kind = 'title' LIMIT 1
    ) AS t
    """
)


async def list_given(db: Reading, entity_ids: Iterable[UUID], *, several: Set[UUID]) -> set[UUID]:
    """The entities among these whose names are searched in texts: titles, and headings of several words.

    `several` has the entities among these whose names have several words.
    """
    found = set(await db.scalars(_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)}))
    if not (others := several - found):
        return found
    own = (_h.user_id == db.user_id, sql.among(_h.entity_id, others))
    return found | set(await db.scalars(sa.select(_h.entity_id).distinct().where(*own)))


_USED_TITLES = sql.inline(
    """
    SELECT e.entity_id, e.name, t.title
    FROM unnest(:entity_ids::uuid[]) AS g (entity_id)
    CROSS JOIN LATERAL (
        SELECT o.entity_id, o.origin, o.name FROM stepwell.entities AS o
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
    """
)
_NAME_TITLES = sql.inline(
    """
    UPDATE stepwell.entities AS e SET origin = 'title', name = g.name
    FROM unnest(:entity_ids::uuid[], :names::text[]) AS g (entity_id, name)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id
    """
)
_LOWER_TITLES = sql.inline(
    """
    UPDATE stepwell.entities AS e SET origin = 'text'
    FROM unnest(:entity_ids::uuid[]) AS g (entity_id)
    WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'title'
      AND ({{used_as_name e}}) IS NOT TRUE
    """
)


async def use_titles(db: Writing, entity_ids: Iterable[UUID]) -> None:
    """Give the origin `title` to the entities among these that are titles and are used as names in other texts.

    They take the spelling of the title. File names and common headings such as "Appendix B" keep the origin `text`.
    """
    binds = {"user_id": db.user_id, "entity_ids": list(entity_ids)}
    found = [(row.entity_id, _spell(row)) for row in await db.execute(_USED_TITLES, binds)]
    used = [(entity_id, text) for entity_id, text in found if not names.is_general(text)]
    if used:
        ids, texts = zip(*used, strict=True)
        await db.execute(_NAME_TITLES, {"user_id": db.user_id, "entity_ids": list(ids), "names": list(texts)})


def _spell(row: sa.Row[Any]) -> str:
    """The title without "(…)"; the stored name if a title only contained a former alias and is to be linked again."""
    name = names.title_name(row.title)
    return name.text if name is not None and name.entity_id == row.entity_id else str(row.name)


async def disuse_titles(db: Writing, entity_ids: Iterable[UUID]) -> None:
    """Remove the origin `title` from the entities among these that other texts no longer use as names."""
    await db.execute(_LOWER_TITLES, {"user_id": db.user_id, "entity_ids": list(entity_ids)})
