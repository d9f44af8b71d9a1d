"""Adds, changes, removes and lists the entities of a user.

An entity's description is embedded first; then the entity is checked and stored in one transaction. Stored texts are
linked to new names in the background (`relinking`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from app import errors
from app.pipelines import gazetteers, offload
from app.providers import base
from app.providers.base import Embedder
from app.shapes import Entity, EntityDraft, EntityFilter, LinkedDocument, Vector
from app.store import audit, entities, mentions, name_changes, vectors
from app.store.audit import Event
from app.store.db import Database, Reading, Writing
from app.store.entities import EntityRecord
from app.text import gazetteer, lexical, names

MOST_NOMINATED = 200
"""Most names that a search by name compares."""
CHARACTERS_A_NUMBER = 10
"""Length of a number of a vector when it is written as text."""


async def add(drafts: Sequence[EntityDraft], user_id: str, *, db: Database, embedder: Embedder) -> list[Entity]:
    """Store new entities, all or none.

    Raises BadRequest and Conflict naming the field (of several: `[1].name`), Unavailable where the model is down.
    """
    size = work_size(drafts)
    known = await offload.run(size, _keyed, drafts)
    computed = await description_vectors(drafts, embedder)
    ids = [uuid4() for _ in drafts]
    new = await offload.run(size, _new, ids, drafts, known, computed)
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        await _refuse_clashes(writing, user_id, drafts, known)
        await _refuse_strangers(writing, user_id, drafts)
        await entities.save(writing, user_id, new)
        await name_changes.record(writing, user_id, {key: name for named in known for key, name in named.items()})
        return await entities.of_ids(writing, user_id, ids)


def work_size(drafts: Iterable[EntityDraft]) -> int:
    """A measure of the work that drafts make: characters of what is indexed, and a share for every draft and name."""
    return sum(200 * (1 + len(draft.aliases)) + sum(map(len, draft.facts)) for draft in drafts)


def _keyed(drafts: Sequence[EntityDraft]) -> list[dict[str, str]]:
    return [name_keys(draft, at=_at(place, drafts)) for place, draft in enumerate(drafts)]


def _new(
    ids: Sequence[UUID], drafts: Sequence[EntityDraft], known: Sequence[Mapping[str, str]], computed: Mapping[str, str]
) -> list[EntityRecord]:
    return [record_of(*one, computed, keeps=False) for one in zip(ids, drafts, known, strict=True)]


async def change(
    entity_id: UUID, changed: Mapping[str, Any], user_id: str, *, db: Database, embedder: Embedder
) -> Entity:
    """Give some fields of an entity (of EntityDraft) other values. Raises NotFound, and what `add` raises."""
    async with db.reading(user_id) as reading:
        before = await entities.get(reading, user_id, entity_id)
    wanted = replace(draft_of(before), **changed)
    computed = await description_vectors(
        [wanted] if description_text(wanted) != description_text(draft_of(before)) else [], embedder
    )
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        before = await _own(writing, user_id, entity_id)
        draft = replace(draft_of(before), **changed)
        known = name_keys(draft)
        await _refuse_clashes(writing, user_id, [draft], [known], besides=entity_id)
        await _refuse_strangers(writing, user_id, [draft])
        keeps = description_text(draft) == description_text(draft_of(before))
        await entities.save(writing, user_id, [record_of(entity_id, draft, known, computed, keeps=keeps)])
        await name_changes.record(writing, user_id, changed_names(name_keys(draft_of(before)), known))
        return await entities.get(writing, user_id, entity_id)


async def remove(entity_id: UUID, user_id: str, *, db: Database, actor: str = audit.LOCAL) -> int:
    """Remove an entity of the user's own, and record that `actor` did; returns how many mentions went with it.

    Raises NotFound, Conflict.
    """
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        before = await _own(writing, user_id, entity_id)
        gone = await entities.delete(writing, user_id, entity_id)
        await name_changes.record(writing, user_id, name_keys(draft_of(before)))
        await audit.record(writing, Event(user_id, actor, "entity.deleted", str(entity_id), {"mentions": gone}))
        return gone


async def get(entity_id: UUID, user_id: str, *, db: Database) -> Entity:
    """One entity. Raises NotFound."""
    async with db.reading(user_id) as reading:
        return await entities.get(reading, user_id, entity_id)


async def page(
    user_id: str,
    *,
    db: Database,
    limit: int,
    after: tuple[str, UUID] | None = None,
    only: EntityFilter | None = None,
) -> list[Entity]:
    """Entities by name; one that was found in documents is left out where the user has one of the same name."""
    async with db.reading(user_id) as reading:
        return await entities.page(reading, user_id, limit=limit, after=after, only=only)


async def find(text: str, user_id: str, *, db: Database, limit: int, only: EntityFilter | None = None) -> list[Entity]:
    """Entities with a name or alias like the text, the most similar first. Titles are found by whole name only."""
    async with db.reading(user_id) as reading:
        known = await gazetteers.current(reading, user_id)
        alike = dict((await known.fuzzy_index()).similar(text, MOST_NOMINATED))
        if (whole := gazetteer.key(text)) is not None:
            alike = {whole: 1.0, **{key: similarity for key, similarity in alike.items() if key != whole}}
        named = await entities.named(reading, user_id, alike)
        ids = dict.fromkeys(entity for key in alike for entity in named.get(key, ()))
        found = await entities.of_ids(reading, user_id, list(ids))
    only = only or EntityFilter()
    matching = [e for e in found if only.type in (None, e.type) and only.origin in (None, e.origin)]
    return matching[:limit]


async def documents(
    entity_id: UUID, user_id: str, *, db: Database, limit: int, after: tuple[float, UUID] | None
) -> list[LinkedDocument]:
    """The documents that an entity is linked to, the strongest link first. Raises NotFound."""
    async with db.reading(user_id) as reading:
        await entities.get(reading, user_id, entity_id)
        return await entities.documents(reading, user_id, entity_id, limit=limit, after=after)


def name_keys(draft: EntityDraft, *, at: str = "") -> dict[str, str]:
    """A draft's name and aliases by key, the name first. Raises BadRequest naming the field behind `at`."""
    found: dict[str, str] = {}
    for place, name in enumerate((draft.name, *draft.aliases)):
        key = gazetteer.key(name)
        if key is None:
            field = f"aliases[{place - 1}]" if place else "name"
            raise errors.BadRequest("Must hold a letter or a digit, and not be endless.", field=f"{at}{field}")
        found.setdefault(key, name)
    return found


def draft_of(entity: Entity) -> EntityDraft:
    """A stored entity as it would be given."""
    return EntityDraft(**{name: getattr(entity, name) for name in EntityDraft.__dataclass_fields__})


def description_text(draft: EntityDraft) -> str | None:
    """The text that is embedded for an entity; None without a description."""
    return f"{draft.name}: {draft.description}" if draft.description else None


async def description_vectors(drafts: Iterable[EntityDraft], embedder: Embedder) -> dict[str, str]:
    """The vectors of descriptions by text, as Postgres reads them. Raises Unavailable, BadEmbedding."""
    texts = list(dict.fromkeys(text for draft in drafts if (text := description_text(draft))))
    if not texts:
        return {}
    try:
        computed = await embedder.embed_documents(texts)
    except errors.ProviderError as error:
        raise errors.Unavailable("The embedding model does not answer: nothing was stored, try again.") from error
    size = sum(map(len, computed)) * CHARACTERS_A_NUMBER
    return await offload.run(size, _by_text, texts, computed, embedder.model.dimension)


def _by_text(texts: Sequence[str], computed: Sequence[Vector], dimension: int) -> dict[str, str]:
    if len(computed) != len(texts) or not all(base.is_usable(vector, dimension) for vector in computed):
        raise errors.BadEmbedding("The embedding model returned another number or kind of vectors than asked for.")
    return {text: vectors.as_text(vector) for text, vector in zip(texts, computed, strict=True)}


def record_of(
    entity_id: UUID, draft: EntityDraft, known: Mapping[str, str], vectors_by_text: Mapping[str, str], *, keeps: bool
) -> EntityRecord:
    """An entity as the store writes it; `keeps` leaves its vector as it is. Raises Unavailable if it needs another."""
    text = description_text(draft)
    if text is not None and not keeps and text not in vectors_by_text:
        raise errors.Unavailable("The entity was changed by another request at the same time: try again.")
    return EntityRecord(
        entity_id,
        draft,
        names=known,
        facts_text=lexical.index_text("\n".join(draft.facts), "english"),
        role_key=names.key(draft.role) if draft.role else None,
        vector=None if keeps or text is None else vectors_by_text[text],
        keeps_vector=keeps,
    )


def changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The names by key that only one of both has, or whose spelling differs."""
    return {key: name for key, name in {**before, **after}.items() if before.get(key) != after.get(key)}


def _at(place: int, drafts: Sequence[EntityDraft]) -> str:
    return f"[{place}]." if len(drafts) > 1 else ""


async def _own(db: Reading, user_id: str, entity_id: UUID) -> Entity:
    found = await entities.get(db, user_id, entity_id)
    if found.origin != "user":
        raise errors.Conflict("This entity was found in documents: add one of your own with its name instead.")
    return found


async def _refuse_clashes(
    db: Writing,
    user_id: str,
    drafts: Sequence[EntityDraft],
    known: Sequence[Mapping[str, str]],
    *,
    besides: UUID | None = None,
) -> None:
    pairs = [(draft.type, next(iter(named))) for draft, named in zip(drafts, known, strict=True)]
    taken = await entities.own(db, user_id, pairs)
    seen: set[tuple[str, str]] = set()
    for place, pair in enumerate(pairs):
        field = f"{_at(place, drafts)}name"
        if pair in seen:
            raise errors.Conflict("Another entity of this request has this type and name.", field=field)
        seen.add(pair)
        if taken.get(pair, besides) != besides:
            raise errors.Conflict(f"The entity {taken[pair]} has this type and name.", field=field)


async def _refuse_strangers(db: Writing, user_id: str, drafts: Sequence[EntityDraft]) -> None:
    known = await entities.existing(db, user_id, {member for draft in drafts for member in draft.members})
    for place, draft in enumerate(drafts):
        for number, member in enumerate(draft.members):
            if member not in known:
                field = f"{_at(place, drafts)}members[{number}]"
                raise errors.BadRequest(f"There is no entity {member}.", field=field)
