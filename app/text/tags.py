"""Reads the names in a document's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from app.text import gazetteer, names
from app.text.names import Name

KEYS = ("attendees", "people", "participants", "speakers", "author", "project", "team", "tags")
MAX_VALUES = 200
"""Values that are read of one document."""
MAX_VALUE_LENGTH = 200
_PEOPLE = frozenset({"attendees", "people", "participants", "speakers", "author"})
_TYPE = re.compile("[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Tag:
    """A name in metadata, the type of its entity, and the kind of mention that it makes.

    `meant` are the ids of the entities of this name that the metadata means, empty if it does not say.
    """

    key: str
    text: str
    type: str
    kind: Literal["attendee", "metadata"]
    meant: frozenset[UUID] = frozenset()

    @property
    def entity_id(self) -> UUID:
        """The id of the entity that is derived from the name alone."""
        return Name(self.key, self.text).entity_id


def from_metadata(metadata: Mapping[str, Any], keys: Sequence[str]) -> list[Tag]:
    """Returns the distinct names under these keys (case-insensitive), people first.

    A value is a string, an object with a `name` and optionally an `entity_id`, or a list of these; other values are
    skipped.
    """
    wanted = {key.casefold() for key in keys}
    found: dict[str, Tag] = {}
    fields = [(field.casefold(), value) for field, value in metadata.items() if field.casefold() in wanted]
    for field, value in sorted(fields, key=lambda item: item[0] not in _PEOPLE):
        for text, meant in _names(value):
            key = gazetteer.key(text)
            if key is not None and len(text) <= MAX_VALUE_LENGTH and len(found) < MAX_VALUES:
                tag = found.setdefault(
                    key, Tag(key, text, _type(field), "attendee" if field in _PEOPLE else "metadata")
                )
                if meant is not None and meant not in tag.meant:
                    found[key] = replace(tag, meant=tag.meant | {meant})
    return list(found.values())


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
    return "tag" if field == "tags" else field if _TYPE.fullmatch(field) else "name"
