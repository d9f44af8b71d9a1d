"""Defines entities as they are given and as they are stored, filters of them, and their links to documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.enums import Json, MentionKind, Origin


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity of a request; `members` are the ids, or names, of entities that it contains."""

    type: str
    name: str
    aliases: tuple[str, ...] = ()
    role: str | None = None
    facts: tuple[str, ...] = ()
    description: str | None = None
    metadata: Json = field(default_factory=dict)
    members: tuple[UUID | str, ...] = ()

    @property
    def member_ids(self) -> tuple[UUID, ...]:
        """The members given by id. After names are resolved, these are all members."""
        return tuple(member for member in self.members if isinstance(member, UUID))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(EntityDraft):
    """A stored entity, with the ids of its members."""

    entity_id: UUID
    members: tuple[UUID, ...] = ()
    origin: Origin
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """Restricts a list of entities to one type, one origin, or both."""

    type: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class LinkedDocument:
    """A document that mentions an entity: its mentions by kind, and the strength of the link."""

    document_id: UUID
    title: str
    uri: str | None
    created_at: datetime
    mentions: dict[MentionKind, int]
    strength: float
