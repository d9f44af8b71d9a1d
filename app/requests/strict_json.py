"""Parses JSON and rejects what Postgres cannot store: NUL, lone surrogates, numbers that are not finite or too large.

Python's `json` accepts NaN, lone surrogates and NUL, parses 1e999 as infinity, and raises ValueError for a number of
4,301 digits and RecursionError for deep nesting. Here each of these is a 422 that names the field. The last of
duplicate keys is used (RFC 8259 leaves the choice open).
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from app import errors
from app.text.unstorable_json import INT64, BadNumber, UnusableValue, find_unusable

Model = TypeVar("Model", bound=BaseModel)
MAX_DEPTH = 64
MAX_CONTAINERS = 100_000
_STRING_OR_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]++|[\]}]++', re.DOTALL)
_RISKY_NUMBER = re.compile(r"[0-9](?:[0-9]{18}(?<![0-9.].{19})|[eE]\+?[0-9]{3})")
_RISKY_TEXT = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)|NaN|Infinity")


class InvalidEncoding(errors.BadRequest):
    """The body is not UTF-8."""

    status = 400
    code = "invalid_encoding"


def parse(raw: bytes) -> object:
    """The value of a JSON text.

    Raises InvalidEncoding if the text is not UTF-8, and RequestValidationError with one of the codes
    `invalid_json` (with the position), `too_deep` (more than 64 levels; a linear scan checks this before the parser),
    `too_many_parts` (more than 100,000 objects and lists: they take twenty times the memory of their text),
    `invalid_number` (NaN, infinite, or an integer beyond 64 bits), `invalid_text` (NUL or a lone surrogate).
    """
    value, is_suspect = _decode(raw)
    if is_suspect:
        check(value)
    return value


def validate(value: object, model: type[Model]) -> Model:
    """The model with the value of a body. Raises RequestValidationError."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raised = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**e, "loc": ("body", *e["loc"])} for e in raised], body=value) from error


def parse_items(raw: bytes) -> object:
    """Like `parse`, but replaces an item of a list by an error if it contains an unusable number or text.

    The `body` of the error is the item.
    """
    value, is_suspect = _decode(raw)
    if is_suspect and isinstance(value, list):
        return [_check(item) for item in value]
    if is_suspect:
        check(value)
    return value


def check(value: object) -> None:
    """Raises RequestValidationError if a value contains an unusable number or text."""
    if found := list(itertools.islice(find_unusable(value), 20)):
        raise invalid(found)


def _check(item: object) -> object:
    try:
        check(item)
    except RequestValidationError as error:
        error.body = item
        return error
    return item


def _decode(raw: bytes) -> tuple[object, bool]:
    """The value of a JSON text, and whether it may contain unusable numbers or texts."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        valid = len(raw) - len(error.object) + error.start
        raise InvalidEncoding(f"The body is not valid UTF-8 after {valid:,} bytes: encode it as UTF-8.") from None
    _check_nesting(text)
    # A Python call per number takes eight times as long, so it is used only if a number may be too large.
    is_risky = _RISKY_NUMBER.search(text) is not None
    numbers: dict[str, Any] = {"parse_float": _decimal, "parse_int": _whole} if is_risky else {}
    try:
        value = json.loads(text, parse_constant=lambda _: BadNumber(), **numbers)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg.partition(':')[0]}"
        raise invalid([((), "invalid_json", f"The body is not valid JSON at {place}.")]) from None
    return value, is_risky or _RISKY_TEXT.search(text) is not None


def _check_nesting(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = opened = 0
    for match in _STRING_OR_BRACKETS.finditer(text):
        kind = match.group()[0]
        if kind in "[{":
            depth += match.end() - match.start()
            opened += match.end() - match.start()
            if depth > MAX_DEPTH:
                raise invalid([((), "too_deep", f"The body is nested more than {MAX_DEPTH} levels deep: flatten it.")])
            if opened > MAX_CONTAINERS:
                raise invalid([((), "too_many_parts", f"Send at most {MAX_CONTAINERS:,} objects and lists at once.")])
        elif kind in "]}":
            depth -= match.end() - match.start()


def _decimal(digits: str) -> object:
    return value if math.isfinite(value := float(digits)) else BadNumber()


def _whole(digits: str) -> object:
    # A longer one is no 64-bit integer. `int` takes quadratic time, and refuses 4,301 digits.
    return value if len(digits) <= 20 and (value := int(digits)) in INT64 else BadNumber()


def invalid(values: list[UnusableValue]) -> RequestValidationError:
    """The error for values of a request, each with its path, a code and what to send instead."""
    located = ((path if path[:1] == ("query",) else ("body", *path), code, text) for path, code, text in values)
    return RequestValidationError([{"loc": path, "type": code, "msg": text} for path, code, text in located])
