"""Converts pydantic's validation errors to field errors: the path of each wrong field and what to send instead.

Pydantic's own messages quote the input and its unions name Python classes; these do neither.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic_core import core_schema

from app.requests import field_suggestions
from app.text import unstorable_json

MAX_ERRORS = 20
_MAX_READ = 200
_PYDANTIC_CODES = frozenset(get_args(core_schema.ErrorType))
_ABSENT = object()

_GENERIC = "Invalid value: compare it with the schema at /docs."
_MESSAGES = {
    "missing": "Required: add this field.",
    "json_invalid": "The body is not valid JSON.",
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
        "Must be a whole number, without quotes or a decimal point.",
    ),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "Must be a finite number, without quotes."),
    **dict.fromkeys(("bool_type", "bool_parsing"), "Must be true or false, without quotes."),
    **dict.fromkeys(("string_type", "string_unicode", "string_sub_type"), "Must be a string."),
    "string_too_long": "Must have at most {max_length} characters.",
    "string_too_short": "Must have at least {min_length} characters.",
    "string_pattern_mismatch": "Must match the pattern {pattern}.",
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), "Must be a list."),
    "too_long": "Must have at most {max_length} items.",
    "too_short": "Must have at least {min_length} items.",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "mapping_type"), "Must be a JSON object."),
    **dict.fromkeys(
        ("uuid_type", "uuid_parsing", "uuid_version"), "Must be a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6."
    ),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        "Must be a date and time in ISO 8601 such as 2026-01-31T12:00:00Z.",
    ),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), "Must be a date such as 2026-01-31."),
    "greater_than": "Must be more than {gt}.",
    "greater_than_equal": "Must be {ge} or more.",
    "less_than": "Must be less than {lt}.",
    "less_than_equal": "Must be {le} or less.",
    "multiple_of": "Must be a multiple of {multiple_of}.",
    **dict.fromkeys(("literal_error", "enum"), "Must be one of: {expected}."),
    "none_required": "Must be null or left out.",
    "union_tag_invalid": "Must be one of: {expected_tags}.",
    "union_tag_not_found": "Required: selects the kind of object.",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field: its path, what to send instead, and a stable code."""

    field: str
    message: str
    code: str


Path = tuple[str | int, ...]
_ABOUT_ABSENT = ("missing", "no_selection")
"""Codes of errors about a field that was not sent."""


def read(raised: Iterable[Mapping[str, Any]], body: object = None) -> list[FieldError]:
    """The field errors in pydantic's order, with one error for each field of a union; at most 200 errors are read.

    Errors are left out of branches of a union that match less of the value than another branch. `body` is the validated
    value. It distinguishes names of fields from the names that pydantic gives to branches of a union, which are
    internal; without it every step of a location counts as a field.
    """
    located = [_locate(error, body) for error in itertools.islice(raised, _MAX_READ)]
    entered = {branch for path, branch, _ in located if branch is not None and len(path) > len(branch)}
    merged: dict[tuple[str, bool], FieldError] = {}
    for path, branch, error in located:
        if path == branch and branch in entered:
            continue
        key = (error.field, branch is not None)
        first = merged.setdefault(key, error)
        if branch is not None and error.message not in first.message:
            merged[key] = replace(first, message=f"{first.message} Or: {error.message}"[:300])
    return list(merged.values())


def is_pydantic_code(code: str) -> bool:
    """Whether the code is one of pydantic's own."""
    return code in _PYDANTIC_CODES


def _locate(error: Mapping[str, Any], body: object) -> tuple[Path, Path | None, FieldError]:
    """The path of an error, the path at the first name of a union's branch in it, and the error of the field."""
    code = str(error["type"])
    location = tuple(error["loc"])
    context = error.get("ctx") or {}
    if (location, code) == (("body",), "missing"):
        return (), None, FieldError("body", "The body is empty: send JSON.", "invalid_json")
    root = body if location[:1] == ("body",) and body is not None else _ABSENT
    path, branched_at = _resolve(location[1:], root, absent_last=code in _ABOUT_ABSENT)
    otherwise = str(location[0]) if location else "body"
    message = _message(code, str(error.get("msg")), context)
    if code == "extra_forbidden":
        message = _unknown(path, location[0], context)
    if code == "literal_error":
        given = functools.reduce(_child, path, root)
        if meant := field_suggestions.value_advice(given, context["expected"]):
            message = f"{message} Did you mean {meant}?"
    return path, branched_at, FieldError(unstorable_json.path_of(path, otherwise=otherwise), message, code)


def _resolve(steps: Sequence[str | int], value: object, *, absent_last: bool) -> tuple[Path, Path | None]:
    """The path of a location without names of union branches, and the path at the first such name."""
    path: list[str | int] = []
    branched_at: Path | None = None
    for position, step in enumerate(steps):
        child = _child(value, step)
        exists = value is _ABSENT or child is not _ABSENT
        if exists or isinstance(step, int) or (absent_last and position == len(steps) - 1):
            path.append(step)
            value = child
        elif branched_at is None:
            branched_at = tuple(path)
    return tuple(path), branched_at


def _child(value: object, step: str | int) -> object:
    if isinstance(value, dict):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return _ABSENT


def _unknown(path: Sequence[str | int], place: object, context: Mapping[str, Any]) -> str:
    kind = "Unknown query parameter" if place == "query" and len(path) == 1 else "Unknown field"
    if nearest := context.get("nearest"):
        prefix = unstorable_json.path_of(path[:-1], otherwise="")
        return f"{kind}. Did you mean {prefix + '.' if prefix else ''}{nearest}?"
    return f"{kind}. {context['remark']}" if context.get("remark") else f"{kind}: check its spelling or remove it."


def _message(code: str, own: str, context: Mapping[str, Any]) -> str:
    """The message for one of pydantic's codes. Errors with our codes keep their own: no validator raises ValueError."""
    if not is_pydantic_code(code):
        return own[:300]
    # The values of placeholders are numbers and strings from the schema, never from the request.
    return _MESSAGES.get(code, _GENERIC).format_map(defaultdict(lambda: "the value in the schema at /docs", context))
