"""Types for entities and their links to documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.shapes.kinds import Json, MentionKind

Origin = Literal["user", "metadata", "title", "text"]
NameForm = Literal["full", "word", "part", "role", "topic"]
NameCase = Literal["capital", "small", "unknown", "uniform"]


@dataclass(frozen=True, slots=True)
class NameUse:
    """How a query refers to an entity.

    `form`: by a name of several words, of one word, a first or last name alone, a role, or the topic of its facts.
    `words` are the words of the query that refer to it. `case`: whether capitals show that these are a name or ordinary
    words; `uniform` if most words are capitalised. `in_identifier`: they are part of a path, URL or identifier.
    `has_neighbour`: a capitalised word next to them belongs to another name. `is_address`: the query addresses the
    person or is signed by them. `is_place`: a person's name follows a preposition of place. `phrases` are the words
    with an ordinary word beside them, which may make them part of a phrase.
    """

    form: NameForm
    words: tuple[str, ...] = ()
    case: NameCase = "unknown"
    in_identifier: bool = False
    has_neighbour: bool = False
    is_address: bool = False
    is_place: bool = False
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def is_incidental(self) -> bool:
        """Whether the name is certainly not what the query is about."""
        return self.in_identifier or self.has_neighbour or self.is_address


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
        """The members that are given by id: all of them once names are resolved."""
        return tuple(member for member in self.members if isinstance(member, UUID))


@dataclass(frozen=True, slots=True)
class Entity:
    """A stored entity."""

    entity_id: UUID
    type: str
    name: str
    aliases: tuple[str, ...]
    role: str | None
    facts: tuple[str, ...]
    description: str | None
    metadata: Json
    members: tuple[UUID, ...]
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
