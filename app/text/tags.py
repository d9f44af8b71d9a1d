"""Reads the names in a document's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """A name in metadata, the type of its entity, and the kind of mention that it makes."""

    key: str
    text: str
    type: str
    kind: Literal["attendee", "metadata"]

    @property
    def entity_id(self) -> UUID:
        """The id of the entity that is derived from the name alone."""
        return Name(self.key, self.text).entity_id


def from_metadata(metadata: Mapping[str, Any], keys: Sequence[str]) -> list[Tag]:
    """Returns the distinct names under these keys (case-insensitive), people first.

    A value is a string, an object with a `name`, or a list of these; other values are skipped.
    """
    wanted = {key.casefold() for key in keys}
    found: dict[str, Tag] = {}
    fields = [(field.casefold(), value) for field, value in metadata.items() if field.casefold() in wanted]
    for field, value in sorted(fields, key=lambda item: item[0] not in _PEOPLE):
        for text in _texts(value):
            key = gazetteer.key(text)
            if key is not None and len(text) <= MAX_VALUE_LENGTH and len(found) < MAX_VALUES:
                found.setdefault(key, Tag(key, text, _type(field), "attendee" if field in _PEOPLE else "metadata"))
    return list(found.values())


def _texts(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        text = item.get("name") if isinstance(item, dict) else item
        if isinstance(text, str):
            yield names.tidy(text[: 4 * MAX_VALUE_LENGTH])


def _type(field: str) -> str:
    if field in _PEOPLE:
        return "person"
    return "tag" if field == "tags" else field if _TYPE.fullmatch(field) else "name"
