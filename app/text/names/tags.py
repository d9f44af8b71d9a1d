"""Reads the names in a document's metadata, and those that a language model has extracted from its text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from app.text.names import gazetteer, names
from app.text.names.names import Name

KEYS = ("attendees", "people", "participants", "speakers", "author", "project", "team", "tags")
MAX_VALUES = 200
"""Values that are read of one document."""
MAX_VALUE_LENGTH = 200
_PEOPLE = frozenset({"attendees", "people", "participants", "speakers", "author"})
_TYPE = re.compile("[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Tag:
    """A name in metadata, the type of its entity, and the kind of mention that it makes.

    `meant` are the ids of the entities of this name that the metadata means, empty if it does not say. `aliases`, by
    key, and `role` are those that a language model has extracted.
    """

    key: str
    text: str
    type: str
    kind: Literal["attendee", "metadata"]
    meant: frozenset[UUID] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    role: str | None = None

    @property
    def entity_id(self) -> UUID:
        """The id of the entity that is derived from the name alone."""
        return Name(self.key, self.text).entity_id


def from_metadata(metadata: Mapping[str, Any], keys: Sequence[str]) -> list[Tag]:
    """Returns the distinct names under these keys (case-insensitive), people first.

    A value is a string, an object with a `name` and optionally an `entity_id`, or a list of these; other values are
    skipped.
    """
    wanted = _folded(tuple(keys))
    found: dict[str, Tag] = {}
    fields = [(name.casefold(), value) for name, value in metadata.items() if name.casefold() in wanted]
    for name, value in sorted(fields, key=lambda item: item[0] not in _PEOPLE):
        for text, meant in _names(value):
            key = gazetteer.key(text)
            if key is not None and len(text) <= MAX_VALUE_LENGTH and len(found) < MAX_VALUES:
                tag = found.setdefault(key, Tag(key, text, _type(name), "attendee" if name in _PEOPLE else "metadata"))
                if meant is not None and meant not in tag.meant:
                    found[key] = replace(tag, meant=tag.meant | {meant})
    return list(found.values())


def has_ids(metadata: Mapping[str, Any]) -> bool:
    """Returns whether some value may give an `entity_id` beside a name."""
    items = (item for value in metadata.values() for item in (value if isinstance(value, list) else (value,)))
    return any(isinstance(item, dict) for item in items)


def of_document(metadata: Mapping[str, Any], extracted: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[Tag]:
    """Returns the distinct names in the metadata of a document, then those that were extracted from its text.

    `extracted` are objects with `type`, `name`, `aliases` and `role`. The type of a name in both is that in metadata.
    """
    found = {tag.key: tag for tag in from_metadata(metadata, keys)}
    for one in extracted:
        key = gazetteer.key(one["name"])
        if key is not None:
            tag = found.get(key) or Tag(key, one["name"], one["type"], "metadata")
            aliases = {folded: alias for alias in one["aliases"] if (folded := gazetteer.key(alias)) not in (None, key)}
            found[key] = replace(tag, aliases=aliases, role=one["role"])
    return list(found.values())


def type_name(text: str) -> str:
    """Returns a type of entities as it is stored, `name` if it cannot be one."""
    return text.casefold() if _TYPE.fullmatch(text.casefold()) else "name"


@functools.lru_cache(maxsize=16)
def _folded(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(key.casefold() for key in keys)


def _names(value: object) -> Iterator[tuple[str, UUID | None]]:
    """Yields the names in a value, each with the id of the entity that it means, if the value says so."""
    for item in value if isinstance(value, list) else [value]:
        text, given = (item.get("name"), item.get("entity_id")) if isinstance(item, dict) else (item, None)
        if isinstance(text, str):
            yield names.tidy(text[: 4 * MAX_VALUE_LENGTH]), _id(given)


def _id(given: object) -> UUID | None:
    try:
        return UUID(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _type(field: str) -> str:
    if field in _PEOPLE:
        return "person"
    return "tag" if field == "tags" else type_name(field)
