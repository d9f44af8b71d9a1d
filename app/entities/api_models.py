"""Defines the request and response models of entities, and reads entities from JSON lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError

from app import enums, errors, limits
from app.entities.bulk_upsert import Line, LineResult
from app.entities.types import EntityDraft
from app.enums import EntityOrigin, EntityStatus, MentionKind
from app.http.responses import Response, ShownUri
from app.requests import field_types, strict_json, validation_errors
from app.text.names import gazetteer, names
from app.text.words import cleaning

MAX_ENTITIES = 1_000


def _name(text: str) -> str:
    tidy = names.tidy(text)
    if gazetteer.key(tidy) is None:
        raise PydanticCustomError("blank_name", "Must contain a letter or a digit.")
    if len(tidy) > limits.MAX_ENTITY_NAME:
        raise PydanticCustomError(
            "string_too_long", "Must have at most {max_length} characters.", {"max_length": limits.MAX_ENTITY_NAME}
        )
    return tidy


def _visible(text: str) -> str:
    if cleaning.is_blank(text):
        raise PydanticCustomError("blank_text", "Must contain visible text, or be left out.")
    return text.strip()


_TYPE_PATTERN = f"^[a-z][a-z0-9_-]{{0,{limits.MAX_ENTITY_TYPE - 1}}}$"
NameText = Annotated[
    str,
    Field(
        max_length=4 * limits.MAX_ENTITY_NAME, json_schema_extra={"minLength": 1, "maxLength": limits.MAX_ENTITY_NAME}
    ),
    AfterValidator(_name),
]
"""1 to 200 characters after cleaning, at least one of them a letter or digit."""
TypeName = Annotated[str, Field(pattern=_TYPE_PATTERN, examples=["person"])]
RoleText = Annotated[str, Field(max_length=200), AfterValidator(_visible)]
FactText = Annotated[str, Field(max_length=1_000), AfterValidator(_visible)]
DescriptionText = Annotated[str, Field(max_length=4_000), AfterValidator(_visible)]
Aliases = Annotated[list[NameText], *field_types.at_most(limits.MAX_ALIASES)]
Facts = Annotated[list[FactText], *field_types.at_most(limits.MAX_FACTS)]

_TYPE = "Lower-case word, such as person, project, team, vendor, product or place."
_NAME = f"Name of 1 to {limits.MAX_ENTITY_NAME} characters, compared without case, accents and punctuation."
_NEW_ID = "UUID of your choice, for a namesake of an entity of this type; by default it follows from type and name."
_ALIASES = "Other names used in texts; several entities may share one."
_FACTS = "Sentences about the entity; two-pass search matches their words."
_DESCRIPTION = "Description in one or more sentences; embedded, so that queries match it by meaning."
_MEMBERS = "Ids or names of the entities it contains, such as the people of a team. Cycles are allowed."
MemberNames = Annotated[
    list[Annotated[str, Field(max_length=4 * limits.MAX_ENTITY_NAME)]], *field_types.at_most(field_types.MAX_IDS)
]


class EntityInput(field_types.WireModel):
    """An entity to store: a person, project, team, vendor, product or place that documents mention."""

    body_may_be_list = True

    type: TypeName = Field(description=_TYPE)
    name: NameText = Field(description=_NAME)
    aliases: Aliases = Field(default_factory=list, description=_ALIASES)
    role: RoleText | None = Field(None, description="Role in a few words.")
    facts: Facts = Field(default_factory=list, description=_FACTS)
    description: DescriptionText | None = Field(None, description=_DESCRIPTION)
    metadata: field_types.Metadata = Field(default_factory=dict, description="JSON object for other properties.")
    entity_id: UUID | None = Field(None, description=_NEW_ID)
    members: MemberNames = Field(
        default_factory=list, description=f"{_MEMBERS} Names may be those of other entities of the request."
    )

    def shape(self) -> EntityDraft:
        """The entity as a draft to store. Members that are UUIDs become ids, other members stay names."""
        given = {name: _frozen(getattr(self, name)) for name in EntityDraft.__dataclass_fields__}
        return EntityDraft(**given | {"members": tuple(map(_member, self.members))})


class EntityChange(field_types.WireModel):
    """The fields to change. Omitted fields keep their value; null removes role or description."""

    null_is_default = False

    type: field_types.NotNull[TypeName] = Field(None, description=_TYPE)
    name: field_types.NotNull[NameText] = Field(None, description=_NAME)
    aliases: field_types.NotNull[Aliases] = Field(None, description=_ALIASES)
    role: RoleText | None = Field(None, description="Role in a few words.")
    facts: field_types.NotNull[Facts] = Field(None, description=_FACTS)
    description: DescriptionText | None = Field(None, description=_DESCRIPTION)
    metadata: field_types.NotNull[field_types.Metadata] = Field(
        None, description="JSON object for other properties; replaces the stored one."
    )
    members: field_types.NotNull[MemberNames] = Field(None, description=_MEMBERS)

    def shape(self) -> dict[str, Any]:
        """The fields that the request contains, by name."""
        changes = {name: _frozen(getattr(self, name)) for name in self.model_fields_set}
        return changes | ({"members": tuple(map(_member, self.members))} if self.members is not None else {})


class EntityMerge(field_types.WireModel):
    """The entities to merge into another one."""

    entity_ids: Annotated[list[UUID], *field_types.at_most(limits.MAX_MERGED, at_least=1)] = Field(
        description="Entities whose names, facts, members and teams it takes over; those of origin `user` are deleted."
    )


def _member(id_or_name: str) -> UUID | str:
    try:
        return UUID(id_or_name)
    except ValueError:
        return id_or_name


class StoredEntity(Response):
    """A stored entity."""

    entity_id: UUID = Field(description="Id of the entity.")
    type: str = Field(description="Type, such as `person`.")
    name: str = Field(description="Name.")
    aliases: list[str] = Field(description=_ALIASES)
    role: str | None = Field(description="Role in a few words.")
    facts: list[str] = Field(description="Sentences about the entity.")
    description: str | None = Field(description="Description in one or more sentences.")
    metadata: dict[str, Any] = Field(description="JSON object for other properties.")
    members: list[UUID] = Field(description="Ids of the entities it contains.")
    origin: EntityOrigin = Field(description="user: stored through the API; metadata, title: extracted from documents.")
    created_at: datetime = Field(description="Time at which it was stored.")
    updated_at: datetime = Field(description="Time of its last change.")


class EntityList(BaseModel):
    """Entities that were stored together."""

    entities: list[StoredEntity] = Field(description="The entities, in the order of the request.")


class EntityPage(BaseModel):
    """A page of entities, by name or by similarity to `q`."""

    entities: list[StoredEntity] = Field(description="Entities of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


class UpsertLineResult(BaseModel):
    """The result of a line."""

    line: int = Field(description="Number of the line in the request, from 1; empty lines count.")
    status: EntityStatus = Field(description="Whether the line was stored.")
    entity_id: UUID | None = Field(description="Id of the entity; null if the line was refused.")
    field: str | None = Field(None, description="Of a refused line: the wrong field.")
    code: str | None = Field(None, description="Of a refused line: stable code of the error.")
    detail: str | None = Field(None, description="Of a refused line: what is wrong and how to fix it.")


class UpsertResult(BaseModel):
    """The results of all lines."""

    lines: list[UpsertLineResult] = Field(description="Results in the order of the lines.")
    added: int = Field(description="Number of new entities.")
    updated: int = Field(description="Number of replaced entities.")
    unchanged: int = Field(description="Number of entities that were stored already.")
    refused: int = Field(description="Number of lines that were not stored.")


class EntityDocument(Response):
    """A document that an entity is linked to."""

    document_id: UUID = Field(description="Id of the document.")
    title: str = Field(description="Title of the document.")
    uri: ShownUri | None = Field(description="URI of the document; of a file its path.")
    created_at: datetime = Field(description="Creation time of the document.")
    mentions: dict[MentionKind, int] = Field(
        description="Number of mentions in its text, and 1 for each other kind of link."
    )
    strength: float = Field(description="Strength of the link: 4 · title + 3 · attendee + 2 · metadata + ln(1 + text).")


class EntityDocumentPage(BaseModel):
    """A page of an entity's documents, strongest link first."""

    documents: list[EntityDocument] = Field(description="Documents of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


class EntityDeletion(BaseModel):
    """Numbers of deleted rows."""

    entities_deleted: int = Field(description="Number of deleted entities.")
    mentions_deleted: int = Field(description="Number of deleted links to documents.")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Lines:
    """The readable lines, and the outcomes of the other lines."""

    sound: list[Line]
    refused: list[UpsertLineResult]

    def answer(self, outcomes: list[LineResult]) -> UpsertResult:
        """The outcomes of all lines, in order, and their numbers by status."""
        results = sorted([*self.refused, *map(_result, outcomes)], key=lambda result: result.line)
        count = Counter(result.status for result in results)
        return UpsertResult(lines=results, **{status: count[status] for status in enums.values(EntityStatus)})


def read_lines(raw: bytes) -> Lines:
    """Read lines of JSON (UTF-8), each as strictly as a separate body. Empty lines are skipped.

    Raises BadRequest if there are more than MAX_ENTITIES lines.
    """
    if raw.rstrip(b"\n").count(b"\n") >= limits.MAX_ENTITIES:
        raise errors.BadRequest(f"Send at most {limits.MAX_ENTITIES:,} lines at once.", field="body")
    sound: list[Line] = []
    refused: list[UpsertLineResult] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip(b" \t\r\xef\xbb\xbf"):
            continue
        try:
            entity = strict_json.validate(strict_json.parse(line), EntityInput)
            sound.append(Line.of(number, entity.shape(), entity.entity_id))
        except RequestValidationError as error:
            refused.append(_refuse(number, validation_errors.read(error.errors())))
        except errors.BadRequest as error:
            refused.append(_refuse(number, [validation_errors.FieldError("line", error.message, error.code)]))
    return Lines(sound, refused)


def _refuse(number: int, found: list[validation_errors.FieldError]) -> UpsertLineResult:
    fault = found[0] if found else validation_errors.FieldError("line", "Cannot be used.", errors.BadRequest.code)
    return UpsertLineResult(
        line=number, status="refused", entity_id=None, field=fault.field, code=fault.code, detail=fault.message
    )


def _result(outcome: LineResult) -> UpsertLineResult:
    error = outcome.error
    told = {"field": error.field, "code": error.code, "detail": error.message} if error else {}
    return UpsertLineResult(line=outcome.number, status=outcome.status, entity_id=outcome.entity_id, **told)
