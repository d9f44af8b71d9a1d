"""Defines the field types that request models and tool arguments share: queries, times and metadata.

Messages do not contain input; custom codes are the `code` of field errors.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app import errors
from app.shapes import dates
from app.text.words import cleaning

MAX_QUERY = 2_000
MAX_QUERY_AS_SENT = 8_000
MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_DEPTH = 32
MAX_METADATA_KEYS = 1_000


def _query(given: str) -> str:
    if len(given) <= MAX_QUERY_AS_SENT:
        given = unicodedata.normalize("NFC", given).strip()
    if len(given) > MAX_QUERY:
        raise PydanticCustomError(
            "string_too_long", "Must have at most {max_length} characters.", {"max_length": MAX_QUERY}
        )
    if cleaning.is_blank(given):
        raise PydanticCustomError(errors.BlankQuery.code, errors.BlankQuery().message)
    return given


def _moment(given: object) -> object:
    # Otherwise pydantic parses 5 and "5" as seconds since 1970.
    if isinstance(given, datetime):
        return given
    try:
        if isinstance(given, str) and (read := dates.moment(given)) is not None:
            return read
    except OverflowError as error:
        raise PydanticCustomError("datetime_parsing", "Must lie between the years 1 and 9999 in UTC.") from error
    raise PydanticCustomError("datetime_parsing", "Must be a date and time in ISO 8601 such as 2026-01-31T12:00:00Z.")


def check_metadata(given: dict[str, Any]) -> dict[str, Any]:
    """The same metadata, within the limits of `Metadata`. Raises PydanticCustomError."""
    keys, depth = _count_keys_and_depth(given)
    if depth > MAX_METADATA_DEPTH:
        raise PydanticCustomError("too_deep", f"Must be nested at most {MAX_METADATA_DEPTH} levels deep.")
    if keys > MAX_METADATA_KEYS:
        raise PydanticCustomError("too_many_keys", f"Must have at most {MAX_METADATA_KEYS:,} keys on all levels.")
    if len(json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_METADATA_BYTES:
        raise PydanticCustomError("too_large", f"Must take at most {MAX_METADATA_BYTES // 1024} KB as JSON.")
    return given


def _count_keys_and_depth(value: object) -> tuple[int, int]:
    """The number of keys on all levels and the nesting depth; counting stops one level below the limit."""
    keys, depth = 0, 0
    level = [value]
    while level and depth <= MAX_METADATA_DEPTH:
        containers = [v for v in level if isinstance(v, dict | list)]
        keys += sum(len(v) for v in containers if isinstance(v, dict))
        depth += bool(containers)
        level = [item for v in containers for item in (v.values() if isinstance(v, dict) else v)]
    return keys, depth


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A date, or a date and time, in ISO 8601; without an offset it is UTC."""

QueryText = Annotated[
    str,
    AfterValidator(_query),
    Field(
        json_schema_extra={"maxLength": MAX_QUERY, "minLength": 1},
        description=f"Text to search for: 1 to {MAX_QUERY:,} characters, at least one of them visible.",
    ),
]
"""The query in NFC without white space around it: at most 2,000 characters then, 8,000 as sent; a blank one is 400."""

Metadata = Annotated[dict[str, Any], AfterValidator(check_metadata)]
"""A JSON object of at most 64 KB, 32 levels and 1,000 keys."""
