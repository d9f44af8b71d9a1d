"""Decides in Python whether a document passes filters, and draws random documents and filters.

The definitions are those of docs/filters.md.
"""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote
from uuid import UUID, uuid4

import asyncpg

from app.database.filter_types import OPERATORS, Filters

KEYS = ["a", "b", "odd key", "größe"]
DAY = 24 * 60 * 60 * 1_000_000
DATES = {
    "2023-12-31": -61 * DAY,
    "2024-02-29 23:59:59.9999996 Z": 0,
    "2024-03-01": 0,
    " 2024-03-01\n": 0,
    "2024-03-01t02:00+02": 0,
    "2024-03-01 02:00:00,0 +0200 ": 0,
    "2024-03-01T00:00:00.0000005Z": 0,
    "2024-03-01T00:00:00.0000006Z": 1,
    "2024-02-29T12:00:00.000001234-12:00": 1,
    "2024-03-01T00:00:00,0000015": 2,
    "2024-03-01T00:00:00.0000025z": 2,
    "2024-03-02": DAY,
}
"""Dates and times as they may be written, in microseconds since the first one of March 2024."""
NO_DATES = ["2024-02-30", "2024-03-01T24:00", "2024-03-01T00:00+16:00", "2024-03-01T00", "20240301", "2024-W09-5"]
SCALARS = [1, 1.0, 2, -0.5, "1", "red", "Red", "", *DATES, *NO_DATES, True, False, None]
NUMBERS = [1, 2, -0.5, 1.5]
URIS = [
    None,
    "notes/2026/lime.md",
    "notes/2026/plan.PDF",
    "notes-old/a.md",
    "https://wiki.example/lime",
    "file:///srv/Meine%20Dokumente%20%C3%BC/a.md",
    "file:///srv/Meine%20Dokumente%20%C3%BC/b.csv#row=5",
    "notes/grün/ü.md#a#b.PDF",
    "notes/c.csv#a\nb",
    "notes/d\ne.csv#a",
    "",
]
FILE_NAMES = ["plan.PDF", "ü.md", "b.csv#row=5", "md", ["a.md"], 7, None]
URI_PARTS = [
    "notes", "notes/2026/", "notes/", "https://wiki", "/srv/Meine Dokumente ü", "file:///srv/Meine%20Dok", "/srv/",
    "notes/grün", "https://wiki.example/lime", "h",
]  # fmt: skip
START = datetime(2024, 3, 1, tzinfo=UTC)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "gte": lambda value, bound: value >= bound,
    "gt": lambda value, bound: value > bound,
    "lte": lambda value, bound: value <= bound,
    "lt": lambda value, bound: value < bound,
}


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The properties of a document that filters test. The name of its source is its id."""

    document_id: UUID
    source_id: UUID | None
    created_at: datetime
    metadata: dict[str, Any]
    uri: str | None = None


def passes(filters: Filters, document: StoredDocument) -> bool:
    """Whether the document meets all conditions of the filters."""
    return (
        (filters.document_ids is None or document.document_id in filters.document_ids)
        and (filters.source_ids is None or document.source_id in filters.source_ids)
        and (filters.source_names is None or str(document.source_id) in map(str.lower, filters.source_names))
        and (filters.created_after is None or document.created_at >= filters.created_after)
        and (filters.created_before is None or document.created_at < filters.created_before)
        and (filters.uri_prefix is None or _begins(document.uri, filters.uri_prefix))
        and (filters.folder is None or _begins(document.uri, filters.folder.rstrip("/") + "/"))
        and (filters.file_types is None or _has_type(document, filters.file_types))
        and all(_meets(document.metadata, key, value) for key, value in (filters.metadata or {}).items())
        and (filters.any_of is None or any(passes(member, document) for member in filters.any_of))
        and (filters.all_of is None or all(passes(member, document) for member in filters.all_of))
        and (filters.negated is None or not passes(filters.negated, document))
    )


def _begins(uri: str | None, part: str) -> bool:
    """Whether a URI, or the path that it stands for, begins so."""
    return uri is not None and any(form.startswith(part) for form in (uri, unquote(uri).removeprefix("file://")))


def _has_type(document: StoredDocument, types: tuple[str, ...]) -> bool:
    """Whether the URI or the file name ends so, or goes on with a fragment on the same line."""
    suffix = re.compile(rf"\.({'|'.join(types)})(#.*)?\Z", re.ASCII | re.IGNORECASE)
    return any(
        isinstance(name, str) and suffix.search(name) for name in (document.uri, document.metadata.get("filename"))
    )


def _meets(metadata: dict[str, Any], key: str, condition: Any) -> bool:
    stored = [metadata[key]] if key in metadata else []
    values = [value for one in stored for value in (one, *(one if isinstance(one, list) else ()))]
    if not isinstance(condition, dict | list):
        return any(_same(value, condition) for value in values)
    if isinstance(condition, list) or not condition.keys() & {"in", "ne", "exists", *_COMPARISONS}:
        return any(_contains(one, condition) for one in stored)
    bounds = {operator: operand for operator, operand in condition.items() if operator in _COMPARISONS}
    return (
        any(_same(value, one) for value in values for one in condition.get("in", [value]))
        if "in" in condition
        else True
    ) and (
        not ("ne" in condition and any(_same(value, condition["ne"]) for value in values))
        and (condition.get("exists", bool(stored)) == bool(stored))
        and (not bounds or any(_within(value, bounds) for value in values))
    )


def _same(value: Any, other: Any) -> bool:
    """Equality of JSON scalars: 1 equals 1.0, and true does not equal 1."""
    return not isinstance(value, dict | list) and _kind(value) == _kind(other) and value == other


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _within(value: Any, bounds: dict[str, Any]) -> bool:
    return all(_compares(value, operator, bound) for operator, bound in bounds.items())


def _compares(value: Any, operator: str, bound: Any) -> bool:
    if isinstance(bound, str):
        return isinstance(value, str) and value in DATES and _COMPARISONS[operator](DATES[value], DATES[bound])
    return _kind(value) == "number" and _COMPARISONS[operator](value, bound)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(k in value and _contains(value[k], w) for k, w in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(_contains(v, w) for v in value) for w in wanted)
    return _same(value, wanted)


def draw_document(dice: random.Random, document_id: UUID, sources: list[UUID]) -> StoredDocument:
    """A document with random properties."""
    keys = dice.sample(KEYS, dice.randint(0, len(KEYS)))
    created_at = START + timedelta(microseconds=dice.randint(0, 3))
    metadata = {key: _json(dice, depth=3) for key in keys}
    if dice.random() < 0.3:
        metadata["filename"] = dice.choice(FILE_NAMES)
    return StoredDocument(document_id, dice.choice([None, *sources]), created_at, metadata, dice.choice(URIS))


async def store(owner: asyncpg.Connection, dice: random.Random, number: int) -> tuple[str, list[StoredDocument]]:
    """A new user and its random documents, without chunks; each has its place in the list as metadata."""
    user, sources = f"filtering-{uuid4().hex}", [uuid4(), uuid4()]
    insert = "INSERT INTO stepwell.sources (user_id, source_id, path, glob) VALUES ($1, $2, $3, '*')"
    await owner.executemany(insert, [(user, source, str(source)) for source in sources])
    drawn = [draw_document(dice, uuid4(), sources) for _ in range(number)]
    documents = [replace(one, metadata={**one.metadata, "n": place}) for place, one in enumerate(drawn)]
    columns = (
        "user_id, document_id, source_id, created_at, metadata, uri, title, config, content, identity, content_hash"
    )
    await owner.executemany(
        f"INSERT INTO stepwell.documents ({columns}, attributes_hash, chunk_count) "
        "VALUES ($1, $2, $3, $4, $5, $7, '', 'english', '', $6, '', '', 0)",
        [
            (user, d.document_id, d.source_id, d.created_at, json.dumps(d.metadata), d.document_id.bytes, d.uri)
            for d in documents
        ],
    )
    return user, documents


def _json(dice: random.Random, *, depth: int) -> Any:
    shape = dice.random()
    if not depth or shape < 0.5:
        return dice.choice(SCALARS)
    if shape < 0.8:
        return [_json(dice, depth=depth - 1) for _ in range(dice.randint(0, 3))]
    return {key: _json(dice, depth=depth - 1) for key in dice.sample(["x", "y"], dice.randint(0, 2))}


def draw_filters(dice: random.Random, documents: list[StoredDocument], *, depth: int = 3) -> Filters:
    """Filters with one to three conditions, some of them groups; values are often those of a document."""
    filters = Filters()
    for _ in range(dice.randint(1, 3)):
        kind = dice.choice(
            ["metadata"] * 4 + ["ids", "sources", "created", "uri"] + ["any", "all", "not"] * bool(depth)
        )
        if kind == "metadata":
            metadata = dict(filters.metadata or {}) | {dice.choice(KEYS): _condition(dice, documents)}
            filters = replace(filters, metadata=metadata)
        elif kind == "ids":
            some = dice.sample(documents, len(documents) // 2)
            filters = replace(filters, document_ids=tuple(one.document_id for one in some))
        elif kind == "sources":
            source_ids = tuple(filter(None, [dice.choice(documents).source_id]))
            names = tuple(str(source_id).upper() for source_id in source_ids)
            filters = replace(filters, **dice.choice([{"source_ids": source_ids}, {"source_names": names}]))
        elif kind == "created":
            name = dice.choice(["created_after", "created_before"])
            filters = replace(filters, **{name: START + timedelta(microseconds=dice.randint(0, 3))})
        elif kind == "uri":
            uri_parts: dict[str, Any] = {name: dice.choice(URI_PARTS) for name in ("uri_prefix", "folder")}
            uri_parts["file_types"] = dice.choice([("md",), ("pdf", "csv"), ("docx",)])
            name = dice.choice(list(uri_parts))
            filters = replace(filters, **{name: uri_parts[name]})
        elif kind == "not":
            filters = replace(filters, negated=draw_filters(dice, documents, depth=depth - 1))
        else:
            members = [draw_filters(dice, documents, depth=depth - 1) for _ in range(dice.randint(1, 3))]
            filters = replace(filters, **{f"{kind}_of": tuple(members)})
    return filters


def _condition(dice: random.Random, documents: list[StoredDocument]) -> Any:
    stored = dice.choice(list(dice.choice(documents).metadata.values()) or [None])
    if dice.random() < 0.4:
        return stored
    operators = {
        "in": dice.sample(SCALARS, dice.randint(0, 3)),
        "ne": dice.choice(SCALARS),
        "exists": dice.choice([True, False]),
        "gte": dice.choice([*NUMBERS, *DATES]),
        "lt": dice.choice([*NUMBERS, *DATES]),
    }
    assert {*operators, "gt", "lte"} == set(OPERATORS), "each operator is drawn; the bounds are one another's mirror"
    return {operator: operators[operator] for operator in dice.sample(list(operators), dice.randint(1, 2))}
