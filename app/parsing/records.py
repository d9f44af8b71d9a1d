"""Turns the records of a table or of JSON lines into documents: one field is the text, the others are metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from app.errors import UnreadableFile
from app.shapes import ExtractedDocument

TEXT_FIELDS = ("text", "content", "body")
TITLE_FIELDS = ("title", "name")
ID_FIELDS = ("id", "_id")
MAX_ID = 200


@dataclass(slots=True)
class RecordReader:
    """Reads records with the same fields, each with a fragment that no other one of the file has.

    `text_field` is the field that holds the text. Without one it is `text`, `content` or `body` if there is such a
    field; else all fields are the text, one to a line.
    """

    text_field: str | None
    seen: set[str] = field(default_factory=set)

    def chosen_by_name(self, columns: Iterable[str]) -> list[str]:
        """The columns that `documents` looks for by their names: text, title, id and the requested field."""
        wanted = {*TEXT_FIELDS, *TITLE_FIELDS, *ID_FIELDS}
        return [name for name in columns if name.casefold() in wanted or name == self.text_field]

    def documents(
        self, records: Iterable[tuple[str, Mapping[str, Any]]], *, shared: Mapping[str, Any]
    ) -> Iterator[ExtractedDocument]:
        """The documents of records, each with its place in the file; those without text and title are left out.

        `shared` is metadata of all. Raises UnreadableFile if a record does not have the requested field.
        """
        for place, record in records:
            document = self._document(place, record, shared)
            if document.text.strip() or document.title:
                yield document

    def _document(self, place: str, record: Mapping[str, Any], shared: Mapping[str, Any]) -> ExtractedDocument:
        if self.text_field is not None and self.text_field not in record:
            raise UnreadableFile("unknown_text_field", f"There is no field or column with this name ({place}).")
        chosen = self.text_field or _named(record, TEXT_FIELDS)
        title = _named(record, TITLE_FIELDS)
        if chosen is None:
            text = "\n".join(f"{name}: {value}" for name, value in record.items() if _shown(value))
            others = {name: value for name, value in record.items() if name != title and _shown(value)}
        else:
            text = _shown(record[chosen])
            others = {n: value for n, value in record.items() if n not in (chosen, title) and _shown(value)}
        return ExtractedDocument(
            text,
            title=_shown(record[title]) if title and title != chosen else "",
            metadata={**shared, **others},
            fragment=self._fragment(place, record),
            markdown=chosen is not None,
        )

    def _fragment(self, place: str, record: Mapping[str, Any]) -> str:
        """The place of a record by its id if it has one that no earlier record has, else by its number."""
        name = _named(record, ID_FIELDS)
        value = _shown(record[name]) if name else ""
        _number, _, sheet = place.partition("&")
        by_id = f"id={quote(value, safe='')}" + (f"&{sheet}" if sheet else "")
        fragment = by_id if value and len(value) <= MAX_ID and by_id not in self.seen else place
        self.seen.add(fragment)
        return fragment


def _named(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first field that has one of the names in any case."""
    fields = {key.casefold(): key for key in reversed(list(record))}
    return next((fields[name] for name in names if name in fields), None)


def _shown(value: object) -> str:
    """A value as text; empty for null."""
    return "" if value is None else str(value).strip()
