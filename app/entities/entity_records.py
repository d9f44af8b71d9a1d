"""Builds the records of entities to store, with their ids, the keys of their names, and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import NAMESPACE_URL, UUID, uuid5

from app import errors
from app.concurrency import offload
from app.database import vectors
from app.entities.store.entities import EntityRecord
from app.entities.types import Entity, EntityDraft
from app.models import protocols, unit_vectors
from app.text.names import gazetteer, names
from app.text.words import tsvector_text

CHARACTERS_PER_NUMBER = 10
"""Length of one number of a vector as text."""


def work_size(drafts: Iterable[EntityDraft]) -> int:
    """The cost of storing drafts, in units of `offload.run`: the characters of their facts, and 200 per name."""
    return sum(200 * (1 + len(draft.aliases)) + sum(map(len, draft.facts)) for draft in drafts)


def name_keys(draft: EntityDraft) -> dict[str, str]:
    """A draft's name and aliases by key, the name first. Raises BadRequest with the field."""
    found: dict[str, str] = {}
    for index, name in enumerate((draft.name, *draft.aliases)):
        key = gazetteer.key(name)
        if key is None:
            field = f"aliases[{index - 1}]" if index else "name"
            raise errors.BadRequest("Must contain a letter or a digit and not be too long.", field=field)
        found.setdefault(key, name)
    return found


def new_id(user_id: str, type: str, name_key: str) -> UUID:
    """The id of an entity that a user adds. It depends only on the user, the type and the key of the name."""
    return uuid5(NAMESPACE_URL, f"urn:stepwell:entity:{type}:{name_key}:{user_id}")


def check_own(entity: Entity) -> Entity:
    """The entity. Raises Conflict unless the user has added it."""
    if entity.origin != "user":
        raise errors.Conflict(
            "This entity was found in documents and cannot be changed: add one with its name instead."
        )
    return entity


def draft_of(entity: Entity) -> EntityDraft:
    """The draft that would store this entity."""
    return EntityDraft(**{name: getattr(entity, name) for name in EntityDraft.__dataclass_fields__})


def description_text(draft: EntityDraft) -> str | None:
    """The text to embed for an entity: its role, description and facts; None without any of them.

    It omits the name, because a name has no meaning and makes the vectors of all people alike.
    """
    return ". ".join(filter(None, (draft.role, draft.description, *draft.facts))) or None


def is_described_alike(one: EntityDraft, other: EntityDraft) -> bool:
    """Whether two drafts have the same vector."""
    return description_text(one) == description_text(other)


async def description_vectors(drafts: Iterable[EntityDraft], embedder: protocols.Embedder) -> dict[str, str]:
    """Embeds the descriptions. Returns vectors by text, in Postgres's text form. Raises Unavailable, BadEmbedding."""
    texts = list(dict.fromkeys(text for draft in drafts if (text := description_text(draft))))
    if not texts:
        return {}
    try:
        computed = await embedder.embed_documents(texts)
    except errors.ProviderError as error:
        raise errors.Unavailable("The embedding model did not respond: nothing was stored; try again.") from error

    def write() -> dict[str, str]:
        usable = unit_vectors.unit_vectors(computed, count=len(texts), dimension=embedder.model.dimension)
        return {text: vectors.as_text(vector) for text, vector in zip(texts, usable, strict=True)}

    return await offload.run(sum(map(len, computed)) * CHARACTERS_PER_NUMBER, write)


def record_of(
    entity_id: UUID,
    draft: EntityDraft,
    names_by_key: Mapping[str, str],
    vectors_by_text: Mapping[str, str],
    *,
    keeps: bool,
) -> EntityRecord:
    """The record of an entity; `keeps` leaves the stored vector unchanged.

    Raises Unavailable if the vector of its description is not among `vectors_by_text`.
    """
    text = description_text(draft)
    if text is not None and not keeps and text not in vectors_by_text:
        raise errors.Unavailable("The entity was changed by another request at the same time: try again.")
    return EntityRecord(
        entity_id,
        draft,
        names=names_by_key,
        facts_text=tsvector_text.index_text("\n".join(draft.facts), "english"),
        role_key=names.key(draft.role) if draft.role else None,
        vector=None if keeps or text is None else vectors_by_text[text],
        keeps_vector=keeps,
    )


def changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The names, by key, that were added, removed or respelt."""
    return {key: name for key, name in {**before, **after}.items() if before.get(key) != after.get(key)}
