"""Request and response models for entities."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.api import wire
from app.pipelines.entity_lines import Line
from app.shapes import Entity, EntityDraft, LinkedDocument
from app.text import cleaning, gazetteer, names

MOST_AT_ONCE = 1_000
EXAMPLE_ENTITY = "2b9f0c1e-5d3a-4c86-9a55-0f7f5d1c2e40"
LONGEST_NAME = 200


def _name(given: str) -> str:
    tidy = names.tidy(given)
    if gazetteer.key(tidy) is None:
        raise PydanticCustomError("blank_name", "Must hold a letter or a digit.")
    if len(tidy) > LONGEST_NAME:
        raise PydanticCustomError("string_too_long", "Must have at most {max_length} characters.", {"max_length": 200})
    return tidy


def _visible(given: str) -> str:
    if cleaning.is_blank(given):
        raise PydanticCustomError("blank_text", "Must hold some visible text, or be left out.")
    return given.strip()


def _given(given: object) -> object:
    if given is None:
        raise PydanticCustomError("not_null", "Must not be null: leave it out to keep it as it is.")
    return given


_TYPE_PATTERN = "^[a-z][a-z0-9_-]{0,39}$"
NameText = Annotated[
    str,
    Field(max_length=4 * LONGEST_NAME, json_schema_extra={"minLength": 1, "maxLength": LONGEST_NAME}),
    AfterValidator(_name),
]
"""1 to 200 characters after cleaning, a letter or digit among them."""
TypeName = Annotated[str, Field(pattern=_TYPE_PATTERN, examples=["person"])]
RoleText = Annotated[str, Field(max_length=200), AfterValidator(_visible)]
FactText = Annotated[str, Field(max_length=1_000), AfterValidator(_visible)]
DescriptionText = Annotated[str, Field(max_length=4_000), AfterValidator(_visible)]
Aliases = Annotated[list[NameText], *wire.at_most(50)]
Facts = Annotated[list[FactText], *wire.at_most(200)]

_TYPE = "A short lower-case word: person, project, team, vendor, product, place …"
_NAME = "1 to 200 characters; unique among your own entities of its type, whatever its case, accents and punctuation."
_ALIASES = "Other names under which texts know it; several entities may share one."
_FACTS = "Sentences about it; pass 1 of two-pass search reads their words."
_DESCRIPTION = "What it is, in a sentence or more; embedded, so that questions find it by meaning."
_MEMBERS = "Ids of entities that it contains, such as a team its people; circles do no harm."


class EntityFields(wire.WireModel):
    """The fields of an entity that every request has; members are given by id or by name."""

    type: TypeName = Field(description=_TYPE)
    name: NameText = Field(description=_NAME)
    aliases: Aliases = Field(default_factory=list, description=_ALIASES)
    role: RoleText | None = Field(None, description="What it does, in a few words.")
    facts: Facts = Field(default_factory=list, description=_FACTS)
    description: DescriptionText | None = Field(None, description=_DESCRIPTION)
    metadata: wire.Metadata = Field(default_factory=dict, description="Anything else, as JSON.")


class EntityInput(EntityFields):
    """A person, project, team, vendor, product, place: whatever documents are about."""

    members: wire.IdList = Field(default_factory=list, description=_MEMBERS)

    def shape(self) -> EntityDraft:
        """The entity as the pipelines take it."""
        return EntityDraft(**_fields(self, EntityDraft))


class EntityChange(wire.WireModel):
    """The fields to change; those that are left out stay as they are, and null takes role or description away."""

    type: Annotated[TypeName | None, BeforeValidator(_given)] = Field(None, description=_TYPE)
    name: Annotated[NameText | None, BeforeValidator(_given)] = Field(None, description=_NAME)
    aliases: Annotated[Aliases | None, BeforeValidator(_given)] = Field(None, description=_ALIASES)
    role: RoleText | None = Field(None, description="What it does, in a few words.")
    facts: Annotated[Facts | None, BeforeValidator(_given)] = Field(None, description=_FACTS)
    description: DescriptionText | None = Field(None, description=_DESCRIPTION)
    metadata: Annotated[wire.Metadata | None, BeforeValidator(_given)] = Field(
        None, description="Anything else, as JSON; it takes the place of all that was there."
    )
    members: Annotated[wire.IdList | None, BeforeValidator(_given)] = Field(None, description=_MEMBERS)

    def shape(self) -> dict[str, Any]:
        """The given fields as the pipelines take them."""
        return {name: _frozen(getattr(self, name)) for name in self.model_fields_set}


class EntityLine(EntityFields):
    """One line of a bulk upsert."""

    entity_id: UUID | None = Field(None, description="Which entity to replace; else the one of this type and name.")
    members: Annotated[list[Annotated[str, Field(max_length=4 * LONGEST_NAME)]], *wire.at_most(wire.MAX_IDS)] = Field(
        default_factory=list, description="What it contains: ids or names of entities, of other lines too."
    )

    def shape(self, number: int) -> Line:
        """The line as the pipelines take it."""
        draft = EntityDraft(**{**_fields(self, EntityDraft), "members": ()})
        return Line(number, draft, self.entity_id, tuple(map(_member, self.members)))


def _member(given: str) -> UUID | str:
    try:
        return UUID(given)
    except ValueError:
        return given


class StoredEntity(BaseModel):
    """A stored entity."""

    entity_id: UUID
    type: str
    name: str
    aliases: list[str]
    role: str | None
    facts: list[str]
    description: str | None
    metadata: dict[str, Any]
    members: list[UUID]
    origin: Literal["user", "metadata", "title"] = Field(
        description="user: given through the API; metadata, title: found in documents."
    )
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, entity: Entity) -> StoredEntity:
        """The model of a stored value."""
        listed = {name: list(getattr(entity, name)) for name in ("aliases", "facts", "members")}
        return cls(**{**_fields(entity, Entity), **listed, "metadata": dict(entity.metadata)})


class EntityList(BaseModel):
    """Several entities that were stored."""

    entities: list[StoredEntity]


class EntityPage(BaseModel):
    """Entities by name, or by likeness to `q`."""

    entities: list[StoredEntity]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last.")


class UpsertLineResult(BaseModel):
    """What became of a line."""

    line: int = Field(description="Its number in the request, from 1; empty lines count.")
    status: Literal["added", "updated", "unchanged", "refused"]
    entity_id: UUID | None
    field: str | None = Field(None, description="Of a refused line: the field to blame.")
    code: str | None = Field(None, description="Of a refused line: the kind of problem.")
    detail: str | None = Field(None, description="Of a refused line: what to do.")


class UpsertResult(BaseModel):
    """What became of all lines."""

    lines: list[UpsertLineResult]
    added: int
    updated: int
    unchanged: int
    refused: int

    @classmethod
    def of(cls, outcomes: list[UpsertLineResult]) -> UpsertResult:
        """The outcomes and how many there are of each kind."""
        count = Counter(outcome.status for outcome in outcomes)
        return cls(
            lines=outcomes,
            added=count["added"],
            updated=count["updated"],
            unchanged=count["unchanged"],
            refused=count["refused"],
        )


class EntityDocument(BaseModel):
    """A document that an entity is linked to."""

    document_id: UUID
    title: str
    uri: str | None
    created_at: datetime
    mentions: dict[Literal["text", "attendee", "metadata", "title"], int] = Field(
        description="How often its text names the entity, and 1 for each other way in which it does."
    )
    strength: float = Field(description="4 · title + 3 · attendee + 2 · metadata + ln(1 + text).")

    @classmethod
    def of(cls, linked: LinkedDocument) -> EntityDocument:
        """The model of a stored value."""
        return cls(**_fields(linked, LinkedDocument))


class EntityDocumentPage(BaseModel):
    """The documents of an entity, the strongest link first."""

    documents: list[EntityDocument]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last.")


class EntityDeletion(BaseModel):
    """What a deletion removed."""

    entities_deleted: int
    mentions_deleted: int


def _fields(given: Any, shape: Any) -> dict[str, Any]:
    return {name: _frozen(getattr(given, name)) for name in shape.__dataclass_fields__}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
