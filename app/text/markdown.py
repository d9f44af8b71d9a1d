"""Reads title, metadata, language and date from a Markdown document's frontmatter and headings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import yaml

from app.shapes import Json
from app.text import structure

MAX_FRONTMATTER_BYTES = 65_536
MAX_DEPTH = 32
MAX_VALUES = 10_000
MAX_ALIASES = 16  # few enough that even nested merge keys cannot multiply
MAX_INTEGER = 2**63
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = re.compile(r"-{3}[ \t]*\n")
_CLOSING = re.compile(r"^(?:-{3}|\.{3})[ \t]*$\n?", re.MULTILINE)
_YAML_FAILURES = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class ParsedMarkdown:
    """The body of a Markdown text and the values of its frontmatter; `metadata` is plain JSON."""

    body: str
    title: str | None = None
    metadata: Json = field(default_factory=dict)
    language: str | None = None
    created_at: datetime | None = None
    warnings: tuple[str, ...] = ()


class _RefusedError(ValueError):
    """The frontmatter cannot be used; the message gives the reason without quoting it."""


def parse(text: str) -> ParsedMarkdown:
    """Splits YAML frontmatter from the body and reads title, language and date from it.

    The title is the frontmatter's `title`, else the first level-one heading. `created_at` (from `created_at` or
    `date`) is in UTC; a time without a zone is taken as UTC. Frontmatter over 64 KB, nested deeper than 32, with
    more than 10,000 values, with aliases that multiply or with tags beyond plain YAML is skipped with a warning.
    Never raises: the body is always returned.
    """
    block, body, warnings = _split(text)
    if block is None:
        return ParsedMarkdown(body, structure.title(body), warnings=warnings)
    try:
        metadata = _load(block)
    except _RefusedError as refusal:
        return ParsedMarkdown(body, structure.title(body), warnings=(str(refusal),))
    if metadata is None:
        return ParsedMarkdown(text, structure.title(text), warnings=("frontmatter is not a mapping: kept as text",))
    created_at, warnings = _created_at(metadata)
    return ParsedMarkdown(
        body=body,
        title=_line(metadata.get("title")) or structure.title(body),
        metadata=metadata,
        language=_line(metadata.get("language") or metadata.get("lang")),
        created_at=created_at,
        warnings=warnings,
    )


def _split(text: str) -> tuple[str | None, str, tuple[str, ...]]:
    """Returns the frontmatter or None, the body, and warnings."""
    opening = _OPENING.match(text)
    if not opening:
        return None, text, ()
    closing = _CLOSING.search(text, opening.end())
    if not closing:
        return None, text, ("frontmatter is never closed: kept as text",)
    return text[opening.end() : closing.start()], text[closing.end() :].lstrip("\n"), ()


def _load(block: str) -> dict[str, Any] | None:
    """Returns the frontmatter as plain JSON, or None if it is not a mapping."""
    if len(block) > MAX_FRONTMATTER_BYTES or len(block.encode("utf-8", "replace")) > MAX_FRONTMATTER_BYTES:
        raise _RefusedError("frontmatter is over 64 KB: left out")
    try:
        _check_events(block)
        loaded = yaml.load(block, Loader=_Loader)
    except _RefusedError:
        raise
    except _YAML_FAILURES as failure:
        raise _RefusedError("frontmatter is not plain YAML: left out") from failure
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        return None
    return _Plain().mapping(loaded, 1)


def _check_events(block: str) -> None:
    """Rejects deep nesting and repeated aliases before objects are constructed."""
    depth = aliases = 0
    for event in yaml.parse(block, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > MAX_DEPTH:
            raise _RefusedError("frontmatter is nested deeper than 32: left out")
        if aliases > MAX_ALIASES:
            raise _RefusedError("frontmatter has more than 16 aliases: left out")


class _Plain:
    """Converts the objects of YAML to plain JSON and limits their number, because aliases can multiply them."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        """Returns a dictionary with string keys; entries without a JSON value are dropped."""
        entries = ((self._key(key), self._value(item, depth + 1)) for key, item in value.items())
        return {key: item for key, item in entries if item is not ...}

    def _key(self, key: object) -> str:
        return str(self._value(key, MAX_DEPTH)) if key is not None else "null"

    def _value(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _RefusedError("frontmatter has more than 10,000 values: left out")
        if depth > MAX_DEPTH + 1:
            raise _RefusedError("frontmatter is nested deeper than 32: left out")
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            items = (self._value(item, depth + 1) for item in value)
            return [item for item in items if item is not ...]
        return _scalar(value)


def _scalar(value: object) -> object:
    """Returns a JSON scalar, or `...` for values without one (NaN and infinities)."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else ...
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < MAX_INTEGER else hex(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").replace("\x00", "")
    if isinstance(value, str):
        return re.sub("[\x00\ud800-\udfff]", "", value)
    return value if value is None or isinstance(value, bool) else str(value)


def _created_at(metadata: Mapping[str, Any]) -> tuple[datetime | None, tuple[str, ...]]:
    raw = metadata.get("created_at") or metadata.get("date")
    if raw is None:
        return None, ()
    try:
        moment = datetime.fromisoformat(str(raw).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC), ()
    except (ValueError, OverflowError):
        return None, ("frontmatter's date is not an ISO 8601 date: ignored",)


def _line(value: object) -> str | None:
    """Returns a scalar as one line of text, or None if it is blank or no scalar."""
    if value is None or isinstance(value, dict | list | bool):
        return None
    return " ".join(str(value).split()) or None
