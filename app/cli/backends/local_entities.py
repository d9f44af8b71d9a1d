"""Reads and imports entities with the database that a command has opened."""

from __future__ import annotations

from uuid import UUID

from app.api.entities import entity_lines
from app.api.entities.entity_models import EntityDocument, StoredEntity
from app.cli.backends.backend import Answer, Body
from app.pipelines.entities import entities
from app.pipelines.entities import entity_lines as lines
from app.pipelines.linking import mention_refresh
from app.pipelines.running.services import Services
from app.shapes import EntityFilter
from app.store.connection.transactions import Database


async def listed(parameters: Body, limit: int, user_id: str, db: Database) -> list[Answer]:
    """Entities by name, or by similarity to `q`."""
    only = EntityFilter(parameters.get("type"))
    if (text := parameters.get("q")) is not None:
        found = await entities.find(text, user_id, db=db, limit=limit, only=only)
    else:
        found = await entities.page(user_id, db=db, limit=limit, only=only)
    return [StoredEntity.of(entity).model_dump(mode="json") for entity in found]


async def get(entity_id: str, user_id: str, db: Database) -> Answer:
    """An entity."""
    return StoredEntity.of(await entities.get(UUID(entity_id), user_id, db=db)).model_dump(mode="json")


async def documents(entity_id: str, limit: int, user_id: str, db: Database) -> list[Answer]:
    """The documents that an entity is linked to, strongest link first."""
    found = await entities.documents(UUID(entity_id), user_id, db=db, limit=limit, after=None)
    return [EntityDocument.of(document).model_dump(mode="json") for document in found]


async def store(raw: bytes, user_id: str, services: Services) -> Answer:
    """The outcome of each line; stored documents are linked to the entities before it is returned."""
    read = entity_lines.read(raw)
    outcomes = await lines.run(read.sound, user_id, db=services.db, embedder=services.embedder)
    await mention_refresh.settle(user_id, services)
    return read.answer(outcomes).model_dump(mode="json")
