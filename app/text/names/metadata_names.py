"""Reads the names in a document's metadata, and the names that a language model has extracted from its text."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple
from uuid import UUID

from app.text.names import gazetteer, names

KEYS = (
    *("attendees", "people", "participants", "speakers", "author", "project", "team", "vendor", "client", "customer"),
    *("organisation", "organization", "company", "product", "tags"),
)
ALIASES = "aliases"
"""The key of metadata with aliases of the entity that the title of a document names."""
MAX_VALUES = 200
"""Most names that are read from the metadata of a document."""
MAX_VALUE_LENGTH = 200
_PEOPLE = frozenset({"attendees", "people", "participants", "speakers", "author"})
_TYPE = re.compile("[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Tag:
    """A name in metadata, the type of its entity, and the kind of its mention.

    `meant` has the ids of the entities that the metadata means by the name; empty if it gives no id. `aliases` (by
    key) come from the metadata or from a language model, `role` only from a language model.
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
        """The id of the entity. It depends only on the name."""
        return names.Name(self.key, self.text).entity_id


def from_metadata(metadata: Mapping[str, Any], keys: Sequence[str]) -> list[Tag]:
    """Returns the distinct names under these keys (case-insensitive), people first.

    The type of the names is after the key, as in `supplier:vendor`, or follows from it. A value is a string, an object
    with a `name` and optionally a `type` and an `entity_id`, or a list of these. Other values are skipped.
    """
    types = _types(tuple(keys))
    found: dict[str, Tag] = {}
    fields = [(types[name.casefold()], value) for name, value in metadata.items() if name.casefold() in types]
    for kind, value in sorted(fields, key=lambda item: item[0] != "person"):
        for item in _items(value):
            key = gazetteer.key(item.text)
            if key is not None and len(item.text) <= MAX_VALUE_LENGTH and len(found) < MAX_VALUES:
                named = item.kind or kind
                tag = Tag(key, item.text, named, "attendee" if named == "person" else "metadata")
                tag = found.setdefault(key, tag)
                if item.meant is not None and item.meant not in tag.meant:
                    found[key] = replace(tag, meant=tag.meant | {item.meant})
    return list(found.values())


def of_document(
    title: names.Name | None, metadata: Mapping[str, Any], extracted: Sequence[Mapping[str, Any]], keys: Sequence[str]
) -> list[Tag]:
    """Returns the distinct names in the metadata of a document, then the names extracted from its text.

    The `aliases` of metadata are other names of the title. `extracted` has objects with `type`, `name`, `aliases` and
    `role`. If a name is in both, its type is the type in metadata.
    """
    found = {tag.key: tag for tag in from_metadata(metadata, keys)}
    given = next((value for name, value in metadata.items() if name.casefold() == ALIASES), None)
    texts = [item.text for item in _items(given) if len(item.text) <= MAX_VALUE_LENGTH][:MAX_VALUES]
    if title is not None and (aliases := _by_key(texts, without=title.key)):
        tag = found.get(title.key) or Tag(title.key, title.text, "name", "metadata")
        found[title.key] = replace(tag, aliases=aliases)
    for one in extracted:
        key = gazetteer.key(one["name"])
        if key is not None:
            tag = found.get(key) or Tag(key, one["name"], one["type"], "metadata")
            aliases = {**tag.aliases, **_by_key(one["aliases"], without=key)}
            found[key] = replace(tag, aliases=aliases, role=one["role"])
    return list(found.values())


def _by_key(aliases: Sequence[str], *, without: str) -> dict[str, str]:
    """Returns aliases by key, without aliases that have the key of the name itself."""
    return {key: alias for alias in aliases if (key := gazetteer.key(alias)) not in (None, without)}


def type_name(text: str) -> str:
    """Converts text to a stored type of entities; `name` if it cannot be a type."""
    return text.casefold() if _TYPE.fullmatch(text.casefold()) else "name"


@functools.lru_cache(maxsize=16)
def _types(keys: tuple[str, ...]) -> Mapping[str, str]:
    """Returns the type of the names of each key, by the folded key."""
    found = {}
    for key, _, kind in (one.partition(":") for one in keys):
        folded = key.strip().casefold()
        own = "person" if folded in _PEOPLE else "tag" if folded == "tags" else folded
        found[folded] = type_name(kind.strip() or own)
    return found


class _Item(NamedTuple):
    """A name in metadata, with the type and the id of its entity, if the value gives them."""

    text: str
    kind: str | None
    meant: UUID | None


def _items(value: object) -> Iterator[_Item]:
    for item in value if isinstance(value, list) else [value]:
        given = item if isinstance(item, dict) else {"name": item}
        if isinstance(text := given.get("name"), str):
            kind = given.get("type")
            tidy = names.tidy(text[: 4 * MAX_VALUE_LENGTH])
            yield _Item(tidy, type_name(kind) if isinstance(kind, str) else None, _id(given.get("entity_id")))


def _id(given: object) -> UUID | None:
    try:
        return UUID(given) if isinstance(given, str) else None
    except ValueError:
        return None
