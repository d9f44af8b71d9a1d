"""Reads title, metadata, language and date from a Markdown document's frontmatter and headings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from app.enums import Json
from app.text.structure import metadata_json, structure

if TYPE_CHECKING:  # loaded with the first frontmatter: it takes 2 MB
    import yaml

DATE_FIELDS = ("created_at", "date", "created")
"""The fields with the date of a text or record. The first that is given counts."""
TIMESTAMP = re.compile(r"\d{9}")
"""No date, but for example milliseconds since 1970. Python takes the ninth digit for a separator."""
MAX_FRONTMATTER_BYTES = 65_536
MAX_ALIASES = 16  # few enough that even nested merge keys cannot multiply
_NUMBER = "tag:stepwell,2026:number"
_RESOLVERS = (
    ("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("tag:yaml.org,2002:int", re.compile(r"(?:0|-?[1-9][0-9]{0,17})$"), list("-0123456789")),
    (_NUMBER, re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,16}$"), list("-0123456789")),
    ("tag:yaml.org,2002:merge", re.compile(r"<<$"), ["<"]),
)
"""The scalars that are not strings: those of YAML 1.2's core schema that JSON writes in the same form."""
_OPENING = re.compile(r"-{3}[ \t]*\n")
_FAILURES = (ValueError, TypeError, OverflowError, RecursionError, LookupError, AttributeError)
"""What the YAML library raises besides its own errors."""
_CLOSING = re.compile(r"^(?:-{3}|\.{3})[ \t]*$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParsedMarkdown:
    """The body of a Markdown text and the values of its frontmatter; `metadata` is plain JSON."""

    body: str
    title: str | None = None
    metadata: Json = field(default_factory=dict)
    language: str | None = None
    created_at: datetime | None = None
    warnings: tuple[str, ...] = ()


@cache
def _loader() -> type[yaml.SafeLoader]:
    """A loader that keeps sexagesimal times, octal numbers, dates, `yes` and `NO` as strings."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    for tag, pattern, first in _RESOLVERS:
        Loader.add_implicit_resolver(tag, pattern, first)
    Loader.add_constructor(_NUMBER, _number)
    return Loader


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float | str:
    """A decimal number; a string if JSON would write the number in another form, such as 1.10."""
    written = loader.construct_scalar(node)
    number = float(written)
    return number if repr(number) == written and written != "-0.0" else written


class _RefusedError(ValueError):
    """The frontmatter cannot be used; the message gives the reason without quoting it."""


def parse(text: str) -> ParsedMarkdown:
    """Splits YAML frontmatter from the body and reads title, language and date from it.

    The title is the frontmatter's `title`, else the first level-one heading. `created_at` (from `created_at`, `date` or
    `created`) is in UTC; a time without a zone is taken as UTC. The frontmatter stays in the text, with a warning, if
    it is not closed, is not a mapping in plain YAML, or exceeds 64 KB, 32 levels, 1,000 keys, 10,000 values or 16
    aliases. Never raises.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if not opening or not closing:
        notes = ("frontmatter is never closed: kept as text",) if opening else ()
        return ParsedMarkdown(text, structure.title(text), warnings=notes)
    block, body = text[opening.end() : closing.start()], text[closing.end() :].lstrip("\n")
    try:
        metadata = _load(block)
    except _RefusedError as refusal:
        return ParsedMarkdown(text, structure.title(body), warnings=(f"frontmatter {refusal}: kept as text",))
    created_at, warnings = _created_at(metadata)
    comments = {line.strip() for line in block.split("\n") if line.lstrip().startswith("#")}
    if comments and not all(map(f"{metadata}".__contains__, comments)):
        warnings += ("frontmatter has comments: they are left out",)
    return ParsedMarkdown(
        body=body,
        title=_line(metadata.get("title")) or structure.title(body),
        metadata=metadata,
        language=_line(metadata.get("language") or metadata.get("lang")),
        created_at=created_at,
        warnings=warnings,
    )


def _load(block: str) -> dict[str, Any]:
    """Returns the frontmatter as plain JSON. Raises _RefusedError."""
    if len(block) > MAX_FRONTMATTER_BYTES or len(block.encode("utf-8", "replace")) > MAX_FRONTMATTER_BYTES:
        raise _RefusedError("is over 64 KB")
    import yaml

    try:
        _check_events(block)
        loaded = yaml.load(block, Loader=_loader())
    except _RefusedError:
        raise
    except (yaml.YAMLError, *_FAILURES) as failure:
        mark = getattr(failure, "problem_mark", None)
        raise _RefusedError(f"is not plain YAML{f' in line {mark.line + 2}' if mark else ''}") from failure
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise _RefusedError("is not a mapping")
    try:
        return metadata_json.to_json(loaded)
    except metadata_json.TooLargeError as error:
        raise _RefusedError(str(error)) from error


def _check_events(block: str) -> None:
    """Rejects deep nesting and repeated aliases before objects are constructed."""
    import yaml

    depth = aliases = 0
    for event in yaml.parse(block, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > metadata_json.MAX_DEPTH:
            raise _RefusedError("is nested deeper than 32")
        if aliases > MAX_ALIASES:
            raise _RefusedError("has more than 16 aliases")


def _created_at(metadata: Mapping[str, Any]) -> tuple[datetime | None, tuple[str, ...]]:
    raw = next(filter(None, map(metadata.get, DATE_FIELDS)), None)
    if raw is None:
        return None, ()
    written = re.sub(r"\s+(?=[Z+-])", "", str(raw).strip())
    try:
        if TIMESTAMP.match(written):
            raise ValueError
        moment = datetime.fromisoformat(written)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC), ()
    except (ValueError, OverflowError):
        return None, ("frontmatter's date is not an ISO 8601 date: ignored",)


def _line(value: object) -> str | None:
    """Returns a scalar as one line of text, or None for a blank or another value."""
    if value is None or isinstance(value, dict | list | bool):
        return None
    return " ".join(str(value).split()) or None
