"""Turns the records of a table or of JSON into documents: one field is the text, the others are metadata."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.errors import UnreadableFile
from app.parsing import author_and_time, types
from app.parsing.rows import header_rows
from app.parsing.types import MAX_ID, ExtractedDocument
from app.text.structure import frontmatter, metadata_json
from app.text.words import languages

TEXT_FIELDS = ("text", "content", "body")
TITLE_FIELDS = ("title", "name", "subject")
ID_FIELDS = ("id", "_id")
SHORT_FIELDS = frozenset({"number", "key", "state", "status"})
"""Fields without prose that stand below the text: people search for an issue by its number."""
MANY_FIELDS, MOST_FIELDS = 12, 1_000
"""Records with more than MANY_FIELDS and at most MOST_FIELDS fields begin with the important ones."""
SAMPLE = 200
"""Number of records that determine which fields matter."""
LONGEST_NAME = 120
"""Most characters of a value that names a record."""
PROSE = 5
"""Least number of words in prose, which people read and do not only filter by."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number with another displayed form, such as 12.5% for 0.125."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Sample:
    """What the first records say about all: `table_config`, and the order of many fields, important ones first.

    Records with prose have no common language. `name` is the field that names a record.
    """

    config: str | None
    fields: Sequence[str] = ()
    name: str | None = None


@dataclass(slots=True)
class RecordReader:
    """Reads records with the same fields. Each has a fragment that is unique in the file.

    `text_field` is the field that holds the text. By default it is `text`, `content` or `body`, and the fields with
    prose, such as comments, and SHORT_FIELDS stand below it. Without such a field, or if it and the title are blank,
    the text is all fields, one per line.
    """

    text_field: str | None
    seen: set[str] = field(default_factory=set)

    def chosen_by_name(self, columns: Iterable[str]) -> list[str]:
        """The columns that `documents` chooses by name: text, title, id, date and the requested field."""
        wanted = {*TEXT_FIELDS, *TITLE_FIELDS, *ID_FIELDS, *frontmatter.DATE_FIELDS}
        return [name for name in columns if name.casefold() in wanted or name == self.text_field]

    def documents(
        self, records: Iterable[tuple[str, Mapping[str, Any]]], *, shared: Mapping[str, Any]
    ) -> Iterator[ExtractedDocument]:
        """The documents of records, each given with its place in the file. Omits documents without text and title.

        All documents have the metadata `shared`. Raises UnreadableFile if a record lacks the requested field.
        """
        numbered = iter(records)
        first = list(itertools.islice(numbered, SAMPLE))
        sample = self._sample([record for _place, record in first])
        for place, record in itertools.chain(first, numbered):
            document = self._document(place, record, shared, sample)
            if document.text.strip() or document.title:
                yield document

    def _chosen(self, record: Mapping[str, Any]) -> str | None:
        return self.text_field or named(record, TEXT_FIELDS)

    def _sample(self, records: Sequence[Mapping[str, Any]]) -> _Sample:
        if not records or self._chosen(records[0]) is not None:
            return _Sample(None)
        texts = itertools.chain.from_iterable(lines(record, record) for record in records)
        have_prose = 2 * sum(map(is_prose, records)) > len(records)
        config = None if have_prose else languages.detect_config("\n".join(texts)) or ""
        return _Sample(config, *(_order(records) if MANY_FIELDS < len(records[0]) <= MOST_FIELDS else ()))

    def _document(
        self, place: str, record: Mapping[str, Any], shared: Mapping[str, Any], sample: _Sample
    ) -> ExtractedDocument:
        if self.text_field is not None and self.text_field not in record:
            raise UnreadableFile("unknown_text_field", f"There is no field or column with this name ({place}).")
        title = named(record, TITLE_FIELDS)
        chosen = self._chosen(record)
        if chosen is not None and not _words(record[chosen]) and not (title and _words(record[title])):
            chosen = None
        others = [name for name in record if name not in (chosen, title)]
        if chosen is not None:
            below = [name for name in others if name.casefold() in SHORT_FIELDS or is_prose(record[name])]
            text = "\n\n".join([_words(record[chosen]), *lines(record, [] if self.text_field else below)])
        else:
            ordered = dict.fromkeys(itertools.chain((name for name in sample.fields if name in record), record))
            text = "\n".join([*lines(record, ordered), *lines(shared, shared)])
            title = title or (sample.name if sample.name in record else None)
        values = {str(name): record[name] for name in others if header_rows.show(record[name])}
        known = {name: value.value if isinstance(value, Cell) else value for name, value in values.items()}
        name, date = named(record, ID_FIELDS), named(values, frontmatter.DATE_FIELDS)
        return ExtractedDocument(
            text,
            title=_words(record[title]) if title and title != chosen else "",
            metadata={**shared, **known},
            fragment=types.identify(place, header_rows.show(record[name]) if name else "", self.seen),
            markdown=chosen is not None,
            created_at=author_and_time.parse_moment(header_rows.show(values[date])) if date else None,
            table_config=sample.config if chosen is None else None,
        )


def lines(record: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """The named fields that are not blank, each with its name. The objects of a list are list items."""
    for name in names:
        value = record[name]
        if isinstance(value, list) and len(value) > 1 and all(isinstance(inner, dict) for inner in value):
            items = [f"- {shown}" for inner in value if (shown := _words(inner))]
            yield from ["\n".join([f"{name}:", *items])] if items else []
        elif shown := _words(value):
            yield _line(name, shown)


def is_prose(value: Any, levels: int = metadata_json.MAX_DEPTH) -> bool:
    """Whether a text, or a text in a list or an object, is prose: it has PROSE words or more, and mostly letters."""
    if levels and isinstance(value, dict | list):
        return any(is_prose(inner, levels - 1) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and len(value.split(maxsplit=PROSE)) >= PROSE and is_text(value)


def _has_prose(value: Any) -> bool:
    """Whether a value is a list or an object with prose, such as comments."""
    return isinstance(value, dict | list) and is_prose(value)


def _line(name: str, shown: str) -> str:
    return shown if isinstance(name, header_rows.Unnamed) else f"{name}: {shown}"


def _words(value: Any, levels: int = metadata_json.MAX_DEPTH) -> str:
    """A value as text without marks of JSON: `colour: red; sizes: 40, 41`. Deeper levels keep the marks."""
    if levels and isinstance(value, dict):
        return "; ".join(_line(name, shown) for name, inner in value.items() if (shown := _words(inner, levels - 1)))
    if levels and isinstance(value, list):
        return ", ".join(shown for inner in value if (shown := _words(inner, levels - 1)))
    return header_rows.show(value).lower() if isinstance(value, bool) else header_rows.show(value)


def _order(records: Sequence[Mapping[str, Any]]) -> tuple[Sequence[str], str | None]:
    """The order of the fields of records: names and other texts, then categories, then numbers and ids, then constants.

    The first name is the name of the record: a short text that differs in most records.
    """
    values = {name: [header_rows.show(record.get(name)) for record in records] for name in records[0]}
    prose = {name for name in values if 2 * sum(_has_prose(record.get(name)) for record in records) > len(records)}
    ranks = {name: 0 if name in prose else _rank(list(filter(None, found))) for name, found in values.items()}
    fields = sorted(ranks, key=ranks.__getitem__)
    names = (name for name in fields if ranks[name] == 0 and max(map(len, values[name])) <= LONGEST_NAME)
    return fields, next(names, None)


def _rank(values: Sequence[str]) -> int:
    """The rank of a field with these values: from 0 for texts that differ in most records, to 3 for a constant."""
    different = len(set(values))
    if not values or (different == 1 and len(values) > 2):
        return 3
    if 2 * sum(map(is_text, values)) <= len(values):
        return 2
    return 0 if 2 * different > len(values) else 1


def is_text(value: str) -> bool:
    """Whether a value has a word and is mostly letters, unlike numbers, dates, ids and addresses."""
    letters = len(_LETTER.findall(value[:MAX_ID]))
    is_link = "://" in value and " " not in value
    return not is_link and 5 * letters >= 3 * len("".join(value[:MAX_ID].split())) and _WORD.search(value) is not None


def named(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first field that has one of the names in any case."""
    fields = {key.casefold(): key for key in reversed(list(record))}
    return next((fields[name] for name in names if name in fields), None)
