"""Replaces the names of members by ids of entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from app import errors
from app.database.transactions import Reading
from app.entities.store import entities
from app.entities.types import EntityDraft
from app.text.names import gazetteer


async def resolved(
    db: Reading, drafts: Sequence[EntityDraft], added: Mapping[str, Sequence[UUID]]
) -> list[EntityDraft]:
    """The drafts with ids for members; `added` are the entities of the request by the keys of their names.

    A name is that of an entity of the request or of the user, else of one that was found in documents. Raises
    BadRequest for an unknown name, and for one that several of these have.
    """
    given = {member for draft in drafts for member in draft.members if isinstance(member, str)}
    if not given:
        return list(drafts)
    keys = {name: gazetteer.key(name) or "" for name in given}
    stored = await entities.named(db, filter(None, keys.values()))
    origins = await entities.origins(db, {one for found in stored.values() for one in found})
    ids: dict[str, list[UUID]] = {}
    for name, key in keys.items():
        own = [one for one in stored.get(key, ()) if origins.get(one) == "user"]
        ids[name] = list(dict.fromkeys((*added.get(key, ()), *own))) or list(stored.get(key, ()))
    return [_resolved(draft, ids, f"[{index}]." if len(drafts) > 1 else "") for index, draft in enumerate(drafts)]


def _resolved(draft: EntityDraft, ids: Mapping[str, Sequence[UUID]], prefix: str) -> EntityDraft:
    members: dict[UUID, None] = {}
    for place, member in enumerate(draft.members):
        found = ids[member] if isinstance(member, str) else [member]
        if len(found) != 1:
            problem = "Several entities have this name: give an id." if found else "No entity has this name."
            raise errors.BadRequest(problem, field=f"{prefix}members[{place}]")
        members[found[0]] = None
    return replace(draft, members=tuple(members))
