"""Adds entities, searches with them, and reads stored mentions in a form in which two users can be compared."""

from typing import Any
from uuid import UUID

from harness import Tenant
from requests_of import search_request

from app.entities import operations as entities
from app.entities.linking import mention_refresh
from app.entities.types import Entity, EntityDraft
from app.query.search_request import GuidanceOptions, SearchRequest
from app.query.search_types import Answer
from app.search import search
from app.search.steps.entity_guidance.entity_matching import EntityCache

_MENTIONS = """
SELECT coalesce(d.uri, d.title) AS uri, c.chunk_index, e.type, e.name, e.origin, m.kind, m.count
FROM stepwell.mentions AS m
JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.chunks AS c USING (user_id, chunk_no)
JOIN stepwell.entities AS e ON e.user_id = m.user_id AND e.entity_id = m.entity_id
WHERE m.user_id = $1
"""


async def of_tenant(owner: Any, tenant: Tenant) -> set[tuple[Any, ...]]:
    """Every mention, as (uri, chunk, type, name, origin, kind, count)."""
    return {tuple(row) for row in await owner.fetch(_MENTIONS, tenant.user_id)}


async def of_name(owner: Any, tenant: Tenant, name: str, origin: str = "user") -> set[tuple[Any, ...]]:
    """The mentions of one name, as (uri, chunk, kind, count)."""
    return {(m[0], m[1], m[5], m[6]) for m in await of_tenant(owner, tenant) if (m[3], m[4]) == (name, origin)}


async def add_entity(tenant: Tenant, name: str, *aliases: str, type: str = "person", **fields: Any) -> Entity:
    """Add an entity."""
    draft = EntityDraft(type, name, aliases, **fields)
    (added,) = await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    return added


def person(name: str, **fields: Any) -> EntityDraft:
    """The draft of a person."""
    return EntityDraft("person", name, **fields)


async def add_entities(tenant: Tenant, *drafts: EntityDraft) -> list[UUID]:
    """Add entities and link the stored texts to them; returns their ids."""
    added = await entities.add(list(drafts), tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await refresh(tenant)
    return [entity.entity_id for entity in added]


async def refresh(tenant: Tenant) -> int:
    """Link the stored texts again after changes of names; returns the number of chunks that were read."""
    return await mention_refresh.drain(tenant.user_id, tenant.services())


async def asked(
    tenant: Tenant, text: str, *, limit: int = 5, cache: EntityCache | None = None, **guidance: Any
) -> Answer:
    """The answer to a query under these options of entity guidance."""
    query = search_request(text, limit=limit, explain=True, guidance=GuidanceOptions(**guidance))
    return await found(tenant, query, cache)


async def found(tenant: Tenant, query: SearchRequest, cache: EntityCache | None = None) -> Answer:
    """The answer to a query, with its own cache of entities by default."""
    return await search.run(
        query, tenant.user_id, tenant.services(states={EntityCache: EntityCache() if cache is None else cache})
    )


def explained(answer: Answer) -> Any:
    """What the answer says of the entities."""
    assert answer.explain is not None
    return answer.explain["entities"]
