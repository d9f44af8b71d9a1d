"""Adds, changes, merges, removes, lists and finds the entities of a user.

The description of an entity is embedded first. Then one transaction checks and stores the entity. `mention_refresh`
links stored texts to new names in the background.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import UUID

from app import errors, limits
from app.access.store import audit
from app.access.store.audit import Event
from app.concurrency import offload
from app.database.transactions import Database, Reading, Writing, retry_read
from app.entities import bulk_upsert, entity_records
from app.entities.linking import gazetteer_cache
from app.entities.store import entities, mentions, name_changes
from app.entities.store.mentions import LinkedNames
from app.entities.types import Entity, EntityDraft, EntityFilter, LinkedDocument
from app.models.protocols import Embedder
from app.query import model_replacement
from app.services import Services
from app.text.names import gazetteer

MAX_SIMILAR_NAMES = 200
"""Most names with a similar spelling that a search by name looks up."""


async def add(
    drafts: Sequence[EntityDraft],
    user_id: str,
    *,
    db: Database,
    embedder: Embedder,
    ids: Sequence[UUID | None] = (),
) -> list[Entity]:
    """Store new entities, all or none.

    `ids` are chosen by the caller, in the order of the drafts. An entity with a chosen id may have the type and name
    of another entity. Raises BadRequest and Conflict, which name the field (`[1].name` if there are several drafts),
    and Unavailable or BadEmbedding if the model fails.
    """
    chosen = zip(itertools.count(), drafts, ids or itertools.repeat(None), strict=False)
    size = entity_records.work_size(drafts)
    lines = await offload.run(size, lambda: list(itertools.starmap(bulk_upsert.Line.of, chosen)))

    async def store() -> list[Entity]:
        computed = await entity_records.description_vectors(drafts, embedder)
        async with db.locking(user_id) as writing:
            planned = await bulk_upsert.plan(writing, lines)
            for line in [step.line for step in planned.steps.values() if step.before is not None]:
                planned.refuse(line.number, _exists(line))
            _raise_first(planned.refused, lines)
            await bulk_upsert.write(writing, planned, computed)
            return await entities.of_ids(writing, [planned.steps[line.number].entity_id for line in lines])

    return await model_replacement.run(embedder, db, store)


def _exists(line: bulk_upsert.Line) -> errors.Conflict:
    if line.entity_id is not None:
        return errors.Conflict("An entity has this id: change that one, or choose another id.", field="entity_id")
    return errors.Conflict(f"An entity has this type and name. {bulk_upsert.NAMESAKES}", field="name")


def _raise_first(refused: Mapping[int, errors.StepwellError], lines: Sequence[bulk_upsert.Line]) -> None:
    """Raises the error of the first refused line. If there are several lines, its field has the line's number."""
    for number in sorted(refused):
        error = refused[number]
        if len(lines) > 1:
            error.field = f"[{number}].{error.field}"
        raise error


async def change(
    entity_id: UUID, changed: Mapping[str, Any], user_id: str, *, db: Database, embedder: Embedder
) -> Entity:
    """Replace some fields of an entity, named as in EntityDraft. Raises NotFound, and what `add` raises."""

    async def store() -> Entity:
        async with db.reading(user_id) as reading:
            before = entity_records.draft_of(await entities.get(reading, entity_id))
        wanted = replace(before, **changed)
        described = [] if entity_records.is_described_alike(before, wanted) else [wanted]
        computed = await entity_records.description_vectors(described, embedder)
        async with db.locking(user_id) as writing:
            before = entity_records.draft_of(entity_records.check_own(await entities.get(writing, entity_id)))
            lines = [bulk_upsert.Line.of(0, replace(before, **changed), entity_id)]
            planned = await bulk_upsert.plan(writing, lines)
            _raise_first(planned.refused, lines)
            await bulk_upsert.write(writing, planned, computed)
            return await entities.get(writing, entity_id)

    return await model_replacement.run(embedder, db, store)


async def merge(entity_id: UUID, others: Sequence[UUID], user_id: str, services: Services, *, actor: str) -> Entity:
    """Merge other entities into one that the user added. Others that the user added are deleted.

    Others that were found in documents stay, but the merged entity now has their names and hides them. Raises
    NotFound, Conflict if `entity_id` was found in documents, BadRequest with the field, Unavailable if the model fails.
    """
    db, embedder = services.db, services.embedder

    async def store() -> Entity:
        async with db.reading(user_id) as reading:
            before, merged, _gone = await _plan_merge(reading, entity_id, others)
        changed = [] if entity_records.is_described_alike(before, merged) else [merged]
        computed = await entity_records.description_vectors(changed, embedder)
        async with db.locking(user_id) as writing:
            before, merged, gone = await _plan_merge(writing, entity_id, others)
            keeps = entity_records.is_described_alike(before, merged)
            names = entity_records.name_keys(merged)
            await entities.save(writing, [entity_records.record_of(entity_id, merged, names, computed, keeps=keeps)])
            await entities.replace_member(writing, [one.entity_id for one in gone], by=entity_id)
            renamed: dict[str, str] = {}
            for one in gone:
                renamed |= entity_records.name_keys(one)
                if one.origin == "user":
                    await _delete(writing, one, actor)
            renamed |= entity_records.changed_names(entity_records.name_keys(before), names)
            await name_changes.record(writing, renamed)
            return await entities.get(writing, entity_id)

    return await model_replacement.run(embedder, db, store)


async def _plan_merge(
    db: Reading, entity_id: UUID, others: Sequence[UUID]
) -> tuple[EntityDraft, EntityDraft, list[Entity]]:
    """The entity before and after the merge, and the others. Raises what `merge` raises, except Unavailable."""
    into = entity_records.check_own(await entities.get(db, entity_id))
    if entity_id in others:
        raise errors.BadRequest("An entity cannot be merged into itself.", field="entity_ids")
    gone = await entities.of_ids(db, others)
    if unknown := [one for one in others if one not in {entity.entity_id for entity in gone}]:
        raise errors.BadRequest(f"There is no entity {unknown[0]}.", field=f"entity_ids[{others.index(unknown[0])}]")
    before = entity_records.draft_of(into)
    return before, _merge_drafts(before, entity_id, gone), gone


def _merge_drafts(into: EntityDraft, entity_id: UUID, others: Sequence[Entity]) -> EntityDraft:
    """Merges others into a draft, whose type, name, role and description take precedence. Raises BadRequest."""
    every = [into, *others]
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
    counts = ((len(merged.aliases), limits.MAX_ALIASES, "other names"), (len(merged.facts), limits.MAX_FACTS, "facts"))
    for number, most, what in counts:
        if number > most:
            message = f"Together they have {number} {what}; an entity has at most {most}: remove some first."
            raise errors.BadRequest(message, field="entity_ids")
    return merged


async def _delete(writing: Writing, entity: Entity, actor: str) -> int:
    """Delete an entity with an audit event; returns the number of deleted mentions."""
    entity_id = entity.entity_id
    deleted = await entities.delete(writing, entity_id)
    await mentions.prune(writing, LinkedNames(frozenset(entity.member_ids)))
    await audit.record(writing, Event(writing.user_id, actor, "entity.deleted", str(entity_id), {"mentions": deleted}))
    return deleted


async def remove(entity_id: UUID, user_id: str, *, db: Database, actor: str = audit.LOCAL) -> int:
    """Delete an entity that the user added, with an audit event of `actor`; returns the number of deleted mentions.

    Raises NotFound, Conflict.
    """
    async with db.locking(user_id) as writing:
        before = entity_records.check_own(await entities.get(writing, entity_id))
        await name_changes.record(writing, entity_records.name_keys(before))
        return await _delete(writing, before, actor)


@retry_read
async def get(entity_id: UUID, user_id: str, *, db: Database) -> Entity:
    """One entity. Raises NotFound."""
    async with db.reading(user_id) as reading:
        return await entities.get(reading, entity_id)


@retry_read
async def of_ids(entity_ids: Sequence[UUID], user_id: str, *, db: Database) -> list[Entity]:
    """The stored entities among these ids."""
    async with db.reading(user_id) as reading:
        return await entities.of_ids(reading, entity_ids)


@retry_read
async def page(
    user_id: str,
    *,
    db: Database,
    limit: int,
    after: tuple[str, UUID] | None = None,
    only: EntityFilter | None = None,
) -> list[Entity]:
    """Entities by name. Omits an entity found in documents if the user has added one with the same name."""
    async with db.reading(user_id) as reading:
        return await entities.page(reading, limit=limit, after=after, only=only)


@retry_read
async def types(user_id: str, *, db: Database) -> list[str]:
    """The types of the user's entities, the commonest first."""
    async with db.reading(user_id) as reading:
        return await entities.types(reading)


@retry_read
async def find(text: str, user_id: str, *, db: Database, limit: int, only: EntityFilter | None = None) -> list[Entity]:
    """Entities with a name or alias similar to the text, most similar first. Titles must match as a whole."""
    async with db.reading(user_id) as reading:
        similar = await gazetteer_cache.similar(reading, text, limit=MAX_SIMILAR_NAMES)
        keys = dict.fromkeys(key for key, _similarity in similar)
        if (exact := gazetteer.key(text)) is not None:
            keys = {exact: None, **keys}
        named = await entities.named(reading, keys)
        ids = dict.fromkeys(entity for key in keys for entity in named.get(key, ()))
        found = await entities.of_ids(reading, list(ids))
    only = only or EntityFilter()
    matching = [e for e in found if only.type in (None, e.type) and only.origin in (None, e.origin)]
    return matching[:limit]


@retry_read
async def documents(
    entity_id: UUID, user_id: str, *, db: Database, limit: int, after: tuple[float, UUID] | None
) -> list[LinkedDocument]:
    """The documents that an entity is linked to, strongest link first. Raises NotFound."""
    async with db.reading(user_id) as reading:
        await entities.get(reading, entity_id)
        return await entities.documents(reading, entity_id, limit=limit, after=after)
