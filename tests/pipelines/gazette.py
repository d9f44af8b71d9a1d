"""What do a test's documents mention, in words that two worlds can be compared by?"""

from __future__ import annotations

from typing import Any

from given import World

from app.pipelines import entities, mention_refresh
from app.shapes import Entity, EntityDraft
from app.text import tags

_MENTIONS = """
SELECT coalesce(d.uri, d.title) AS uri, c.chunk_index, e.type, e.name, e.origin, m.kind, m.count
FROM stepwell.mentions AS m
JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.chunks AS c USING (user_id, chunk_no)
JOIN stepwell.entities AS e ON e.user_id = m.user_id AND e.entity_id = m.entity_id
WHERE m.user_id = $1
"""


async def mentioned(owner: Any, world: World) -> set[tuple[Any, ...]]:
    """Every mention, as (uri, chunk, type, name, origin, kind, count)."""
    return {tuple(row) for row in await owner.fetch(_MENTIONS, world.user_id)}


async def links(owner: Any, world: World, name: str, origin: str = "user") -> set[tuple[Any, ...]]:
    """The mentions of one name, as (uri, chunk, kind, count)."""
    return {(m[0], m[1], m[5], m[6]) for m in await mentioned(owner, world) if (m[3], m[4]) == (name, origin)}


async def name(world: World, name: str, *aliases: str, type: str = "person", **fields: Any) -> Entity:
    """Add an entity."""
    draft = EntityDraft(type, name, aliases, **fields)
    (added,) = await entities.add([draft], world.user_id, db=world.db, embedder=world.embedder)
    return added


async def relink(world: World) -> int:
    """Have the stored texts follow all changes of names."""
    return await mention_refresh.drain(world.db, world.user_id, keys=tags.KEYS)
