"""Defines the field types that request models and tool arguments share: queries, times and metadata.

Messages do not contain input; custom codes are the `code` of field errors.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app import errors, limits
from app.text import dates
from app.text.queries import analysis
from app.text.structure import plain_json
from app.text.words import cleaning

MAX_QUERY_AS_SENT = 8_000
_LIMITS = {
    "too_deep": f"Must be nested at most {plain_json.MAX_DEPTH} levels deep.",
    "too_many_keys": f"Must have at most {plain_json.MAX_KEYS:,} keys on all levels.",
    "too_large": f"Must take at most {plain_json.MAX_BYTES // 1024} KB as JSON.",
}


def check_length(text: str, most: int) -> str:
    """The same text to search by. Raises PydanticCustomError if it is longer than `most`, by `analysis.length`."""
    if len(text) > most:
        raise PydanticCustomError("string_too_long", "Must have at most {max_length} characters.", {"max_length": most})
    if analysis.length(text) > most:
        message = "Must have at most {max_length} characters, with its ligatures written out."
        raise PydanticCustomError("string_too_long", message, {"max_length": most})
    return text


def _query(given: str) -> str:
    if len(given) <= MAX_QUERY_AS_SENT:
        given = unicodedata.normalize("NFC", given).strip()
    check_length(given, limits.MAX_QUERY)
    if cleaning.is_blank(given):
        raise PydanticCustomError(
            "blank_query", errors.BadRequest(errors.BLANK_QUERY, field="query", code="blank_query").message
        )
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
    """The metadata as it will be read back, within the limits of `Metadata`. Raises PydanticCustomError."""
    try:
        return plain_json.limit(given)
    except plain_json.TooLargeError as error:
        raise PydanticCustomError(error.code, _LIMITS[error.code]) from error


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A date, or a date and time, in ISO 8601; without an offset it is UTC."""

NameLike = Annotated[str, AfterValidator(partial(check_length, most=limits.MAX_ENTITY_NAME))]
"""A text to which names are compared, of at most 200 characters."""

QueryText = Annotated[
    str,
    AfterValidator(_query),
    Field(
        json_schema_extra={"maxLength": limits.MAX_QUERY, "minLength": 1},
        description=f"Text to search for: 1 to {limits.MAX_QUERY:,} characters, at least one of them visible.",
    ),
]
"""The query in NFC without white space around it: at most 2,000 characters then, also with ligatures written out
(NFKC), and 8,000 as sent; a blank one is 400."""

Metadata = Annotated[dict[str, Any], AfterValidator(check_metadata)]
"""A JSON object of at most 64 KB, 32 levels and 1,000 keys."""
