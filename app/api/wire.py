"""Defines the base model and the field types that all request models share.

Numbers are strict individually (`"5"`, `5.0` for an integer and `true` are rejected), because pydantic's strict mode
would reject UUIDs and dates too: FastAPI hands it Python objects, in which those are still strings. `Int`, `Number`
and `Flag` are for JSON bodies; in a URL every value is a string, so query parameters take plain `int` and `float`.

Messages do not contain input; custom codes are the `code` of field errors.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app import errors
from app.text import cleaning

MAX_QUERY = 2_000
MAX_QUERY_AS_SENT = 8_000
MAX_IDS = 1_000
MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_DEPTH = 32
MAX_METADATA_KEYS = 1_000
MAX_DIMENSIONS = 16_000
_MAX_FIELDS = 100
_FLOAT32_MAX = 3.4028234663852886e38

_ISO_8601 = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE)


class WireModel(BaseModel):
    """Base of every request model: unknown fields are rejected and errors do not contain the input."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _limit_fields(cls, given: object) -> object:
        # Each unknown field is an error of its own: a million fields would be a million errors.
        if isinstance(given, dict) and len(given) > _MAX_FIELDS:
            raise PydanticCustomError("too_many_fields", "Has far more fields than the schema allows: see /docs.")
        return given


def at_most(items: int, *, at_least: int = 0) -> tuple[Any, ...]:
    """The annotations of a list of `at_least` to `items`: `Annotated[list[X], *at_most(50)]`.

    The length is checked before the items, and validation stops at the first invalid item.
    """
    return Field(fail_fast=True, min_length=at_least or None, max_length=items), BeforeValidator(_short(items))


def _short(items: int) -> Callable[[object], object]:
    def check(given: object) -> object:
        if isinstance(given, list) and len(given) > items:
            raise PydanticCustomError("too_long", "Must have at most {max_length} items.", {"max_length": items})
        return given

    return check


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


def iso_8601(text: str) -> datetime | None:
    """A calendar date or timestamp (no week dates, no ordinal dates); None if the text is neither."""
    try:
        return datetime.fromisoformat(text.upper()) if _ISO_8601.fullmatch(text) else None
    except ValueError:
        return None


def _check_iso_8601(given: object) -> object:
    # Otherwise pydantic parses 5 and "5" as seconds since 1970.
    if isinstance(given, datetime) or (isinstance(given, str) and _ISO_8601.fullmatch(given)):
        return given
    raise PydanticCustomError("datetime_parsing", "Must be a date and time in ISO 8601 such as 2026-01-31T12:00:00Z.")


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as error:
        raise PydanticCustomError("datetime_parsing", "Must lie between the years 1 and 9999 in UTC.") from error


def _metadata(given: dict[str, Any]) -> dict[str, Any]:
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


def _check_vector(vector: list[float]) -> list[float]:
    if any(abs(x) > _FLOAT32_MAX for x in vector):
        raise PydanticCustomError(errors.InvalidVector.code, "Each number must fit into a 32-bit float.")
    if not math.hypot(*vector) > 1e-30:
        raise PydanticCustomError(errors.InvalidVector.code, "Must not be all zeros: it has no direction.")
    return vector


def expect_dimension(vector: Sequence[float], dimension: int, *, field: str = "vector") -> None:
    """Raises InvalidVector, naming `field` and both lengths, unless the vector is as long as the stored ones."""
    if len(vector) != dimension:
        raise errors.InvalidVector(f"Must have {dimension} numbers; this one has {len(vector)}.", field=field)


Int = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

Moment = Annotated[datetime, BeforeValidator(_check_iso_8601), AfterValidator(_in_utc)]
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

IdList = Annotated[list[UUID], *at_most(MAX_IDS)]
"""At most 1,000 UUIDs."""

Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
"""A JSON object of at most 64 KB, 32 levels and 1,000 keys."""

Vector = Annotated[list[Number], *at_most(MAX_DIMENSIONS, at_least=1), AfterValidator(_check_vector)]
"""Finite numbers, not all zero, that fit into 32-bit floats; `expect_dimension` checks the length."""
