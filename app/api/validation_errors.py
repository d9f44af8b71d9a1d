"""Translates pydantic's validation errors into the wrong field and what to send instead.

Pydantic's own messages quote the input and its unions name Python classes; these do neither. A path such as
`filters.document_ids[3]` holds only names that look like names: any other key a caller sent becomes `(key)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic_core import core_schema

MAX_ERRORS = 20
_CONSIDERED = 200
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_STOCK_CODES = frozenset(get_args(core_schema.ErrorType))
_UNSEEN = object()

_WHOLE = "Must be a whole number, without quotes or a decimal point."
_NUMBER = "Must be a finite number, without quotes."
_FLAG = "Must be true or false, without quotes."
_STRING = "Must be a string."
_LIST = "Must be a list."
_OBJECT = "Must be a JSON object."
_UUID = "Must be a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6."
_MOMENT = "Must be a date and time in ISO 8601 such as 2026-01-31T12:00:00Z."
_OTHERWISE = "This value cannot be used here: compare it with the schema at /docs."

# What stands in braces comes from the schema, never from the request.
_MESSAGES = {
    "missing": "Required: add this field.",
    "extra_forbidden": "Unknown field: check its spelling or remove it.",
    "json_invalid": "The body is not valid JSON.",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": _FLAG,
    "bool_parsing": _FLAG,
    "string_type": _STRING,
    "string_unicode": _STRING,
    "string_sub_type": _STRING,
    "string_too_long": "Must have at most {max_length} characters.",
    "string_too_short": "Must have at least {min_length} characters.",
    "string_pattern_mismatch": "Must match the pattern {pattern}.",
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "too_long": "Must hold at most {max_length} items.",
    "too_short": "Must hold at least {min_length} items.",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "mapping_type": _OBJECT,
    "uuid_type": _UUID,
    "uuid_parsing": _UUID,
    "uuid_version": _UUID,
    "datetime_type": _MOMENT,
    "datetime_parsing": _MOMENT,
    "datetime_from_date_parsing": _MOMENT,
    "datetime_object_invalid": _MOMENT,
    "date_type": "Must be a date such as 2026-01-31.",
    "date_parsing": "Must be a date such as 2026-01-31.",
    "date_from_datetime_parsing": "Must be a date such as 2026-01-31.",
    "greater_than": "Must be more than {gt}.",
    "greater_than_equal": "Must be {ge} or more.",
    "less_than": "Must be less than {lt}.",
    "less_than_equal": "Must be {le} or less.",
    "multiple_of": "Must be a multiple of {multiple_of}.",
    "literal_error": "Must be one of: {expected}.",
    "enum": "Must be one of: {expected}.",
    "none_required": "Must be null or left out.",
    "union_tag_invalid": "Must be one of: {expected_tags}.",
    "union_tag_not_found": "Required: it tells which kind of object this is.",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field: its path, what to send instead, and a stable code."""

    field: str
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class _LocatedError:
    path: tuple[str | int, ...]
    branched_at: tuple[str | int, ...] | None
    fault: FieldError


def read(raised: Iterable[Mapping[str, Any]], body: object = None) -> list[FieldError]:
    """Pydantic's errors as faults, in their order, each field of a union told once.

    `body` is the value that was validated. With it the names that pydantic gives to a union's branches, which no
    caller knows, can be told from the names of fields; without it every step of a location counts as a field.
    Past 200 errors the rest is not looked at.
    """
    placed = [_place(error, body) for _, error in zip(range(_CONSIDERED), raised, strict=False)]
    return _one_per_field(_without_lost_branches(placed))


def is_pydantic_code(code: str) -> bool:
    """Whether pydantic named this kind of fault, not the door."""
    return code in _STOCK_CODES


def path_of(steps: Sequence[str | int], *, otherwise: str = "body") -> str:
    """`("filters", "document_ids", 3)` as `filters.document_ids[3]`, at most 160 characters."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_named(step)}" for step in steps)
    return path.lstrip(".")[:160] or otherwise


def _named(step: str) -> str:
    return step if _NAME.fullmatch(step) else "(key)"


def _place(error: Mapping[str, Any], body: object) -> _LocatedError:
    code = str(error["type"])
    location = tuple(error["loc"])
    context = error.get("ctx") or {}
    if (location, code) == (("body",), "missing"):
        return _LocatedError((), None, FieldError("body", "The body is empty: send JSON.", "invalid_json"))
    here = body if location[:1] == ("body",) and body is not None else _UNSEEN
    path, branched_at = _walk(location[1:], here, absent_last=code == "missing")
    if code.startswith("union_tag"):
        path = (*path, str(context.get("discriminator", "")).strip("'"))
    otherwise = str(location[0]) if location else "body"
    return _LocatedError(
        path, branched_at, FieldError(path_of(path, otherwise=otherwise), _message(code, error, context), code)
    )


def _walk(
    steps: Sequence[str | int], here: object, *, absent_last: bool
) -> tuple[tuple[str | int, ...], tuple[str | int, ...] | None]:
    """The steps that lead somewhere in the value, and where the first name of a union's branch stood among them."""
    path: list[str | int] = []
    branched_at: tuple[str | int, ...] | None = None
    for position, step in enumerate(steps):
        below = _below(here, step)
        known = here is _UNSEEN or below is not _UNSEEN
        if known or isinstance(step, int) or (absent_last and position == len(steps) - 1):
            path.append(step)
            here = below
        elif branched_at is None:
            branched_at = tuple(path)
    return tuple(path), branched_at


def _below(here: object, step: str | int) -> object:
    if isinstance(here, dict):
        return here.get(step, _UNSEEN)
    if isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
        return here[step]
    return _UNSEEN


def _without_lost_branches(placed: Sequence[_LocatedError]) -> list[_LocatedError]:
    """Where one branch of a union got further into the value than another, the other was not meant."""
    entered = {p.branched_at for p in placed if p.branched_at is not None and len(p.path) > len(p.branched_at)}
    return [p for p in placed if p.path != p.branched_at or p.branched_at not in entered]


def _one_per_field(placed: Sequence[_LocatedError]) -> list[FieldError]:
    told: dict[tuple[str, bool], FieldError] = {}
    for p in placed:
        key = (p.fault.field, p.branched_at is not None)
        first = told.setdefault(key, p.fault)
        if p.branched_at is not None and p.fault.message not in first.message:
            told[key] = replace(first, message=f"{first.message} Or: {p.fault.message}"[:300])
    return list(told.values())


def _message(code: str, error: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    if code in {"value_error", "assertion_error"}:
        # A validator's own words; a subclass such as UnicodeEncodeError would quote the input.
        ours = type(context.get("error")) in {ValueError, AssertionError}
        return str(context["error"])[:300] if ours else _OTHERWISE
    if not is_pydantic_code(code):
        return str(error["msg"])[:300]
    return _MESSAGES.get(code, _OTHERWISE).format_map(_Schema(context))


class _Schema(dict[str, Any]):
    """What a message may quote: numbers and strings from the schema."""

    def __missing__(self, key: str) -> str:
        return "what the schema at /docs allows"
