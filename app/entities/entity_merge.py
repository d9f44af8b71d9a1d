"""Merges entities: one takes over the names, facts and members of others, which are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from uuid import UUID

from app import errors, limits
from app.access.store import audit
from app.access.store.audit import Event
from app.database.transactions import Reading, Writing
from app.entities import entity_records
from app.entities.store import entities, name_changes
from app.entities.types import Entity, EntityDraft
from app.query import model_switch
from app.services import Services


async def run(entity_id: UUID, others: Sequence[UUID], user_id: str, services: Services, *, actor: str) -> Entity:
    """Merge others into an entity that the user added, and delete those of them that the user added.

    Entities that were found in documents stay behind the one that has their name now. Raises NotFound, Conflict if
    `entity_id` was found in documents, BadRequest naming the field, and Unavailable if the model fails.
    """
    return await model_switch.run(
        services.embedder, services.db, lambda: _merge(entity_id, others, user_id, services, actor)
    )


async def _merge(entity_id: UUID, others: Sequence[UUID], user_id: str, services: Services, actor: str) -> Entity:
    async with services.db.reading(user_id) as reading:
        before, merged, _gone = await _planned(reading, entity_id, others)
    is_described_alike = entity_records.description_text(merged) == entity_records.description_text(before)
    computed = await entity_records.description_vectors([] if is_described_alike else [merged], services.embedder)
    async with services.db.writing(user_id) as writing:
        await writing.lock()
        before, merged, gone = await _planned(writing, entity_id, others)
        keeps = entity_records.description_text(merged) == entity_records.description_text(before)
        names = entity_records.name_keys(merged)
        await entities.save(writing, [entity_records.record_of(entity_id, merged, names, computed, keeps=keeps)])
        await entities.replace_member(writing, [one.entity_id for one in gone], by=entity_id)
        for one in gone:
            await _delete(writing, one, actor)
        changed = entity_records.changed_names(entity_records.name_keys(before), names)
        of_gone = [entity_records.name_keys(entity_records.draft_of(one)) for one in gone]
        await name_changes.record(writing, {key: name for keyed in (*of_gone, changed) for key, name in keyed.items()})
        return await entities.get(writing, entity_id)


async def _planned(
    db: Reading, entity_id: UUID, others: Sequence[UUID]
) -> tuple[EntityDraft, EntityDraft, list[Entity]]:
    """The entity as it is and as it will be, and the others. Raises what `run` raises but Unavailable."""
    into = entity_records.check_own(await entities.get(db, entity_id))
    if entity_id in others:
        raise errors.BadRequest("An entity cannot be merged into itself.", field="entity_ids")
    gone = await entities.of_ids(db, others)
    if unknown := [one for one in others if one not in {entity.entity_id for entity in gone}]:
        raise errors.BadRequest(f"There is no entity {unknown[0]}.", field=f"entity_ids[{others.index(unknown[0])}]")
    before = entity_records.draft_of(into)
    return before, _merged(before, entity_id, gone), gone


def _merged(into: EntityDraft, entity_id: UUID, others: Sequence[Entity]) -> EntityDraft:
    """What an entity is after it has taken over others: its own type, name, role and description come first."""
    every = [into, *(entity_records.draft_of(other) for other in others)]
    named = replace(into, aliases=tuple(chain(into.aliases, *((one.name, *one.aliases) for one in every[1:]))))
    gone = {entity_id, *(other.entity_id for other in others)}
    merged = replace(
        into,
        aliases=tuple(entity_records.name_keys(named).values())[1:],
        role=next((one.role for one in every if one.role), None),
        facts=tuple(dict.fromkeys(chain(*(one.facts for one in every)))),
        description=next((one.description for one in every if one.description), None),
        metadata={key: value for one in reversed(every) for key, value in one.metadata.items()},
        members=tuple(one for one in dict.fromkeys(chain(*(one.members for one in every))) if one not in gone),
    )
    _check(len(merged.aliases), limits.MAX_ALIASES, "other names")
    _check(len(merged.facts), limits.MAX_FACTS, "facts")
    return merged


def _check(number: int, most: int, what: str) -> None:
    if number > most:
        message = f"Together they have {number} {what}; an entity has at most {most}: remove some first."
        raise errors.BadRequest(message, field="entity_ids")


async def _delete(writing: Writing, entity: Entity, actor: str) -> None:
    if entity.origin == "user":
        mentions = await entities.delete(writing, entity.entity_id)
        event = Event(writing.user_id, actor, "entity.deleted", str(entity.entity_id), {"mentions": mentions})
        await audit.record(writing, event)
