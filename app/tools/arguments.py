"""Defines the base model and the field types of tool arguments.

Unknown arguments are rejected and null means the default. Numbers out of range are clamped, because a model that sends
1000 means "many". Whole numbers may be strings or have a fraction of zero, and objects and lists may be JSON in a
string, because models write them so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import from_json

from app.text import json_values

_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,18}(?:\.0{1,18})?\s*")


class ToolArguments(BaseModel):
    """Base of the arguments of every tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: cls._decoded(name, value) for name, value in given.items() if value is not None}

    @classmethod
    def _decoded(cls, name: str, value: Any) -> Any:
        """The value; the object or list that a string has as JSON, for an argument that takes no text."""
        if not isinstance(value, str) or value[:1] not in ("{", "[") or name not in _structure(cls):
            return value
        try:
            decoded = from_json(value)
        except ValueError:
            return value
        return value if any(json_values.find_unusable(decoded)) else decoded


@cache
def _structure(arguments: type[ToolArguments]) -> frozenset[str]:
    """The names of the arguments that are objects or lists, and no texts."""
    properties = arguments.model_json_schema()["properties"]
    types = {name: {one.get("type") for one in given.get("anyOf", [given])} for name, given in properties.items()}
    return frozenset(name for name, found in types.items() if found & {"object", "array"} and "string" not in found)


def clamped(low: int, high: int) -> tuple[Any, ...]:
    """The annotations of an integer that is moved into its range: `Annotated[int, *clamped(1, 20)]`.

    A whole number may be written as 7, 7.0 or "7".
    """

    def clamp(given: object) -> object:
        number = _whole(given)
        return given if number is None else min(max(number, low), high)

    return Field(strict=True, ge=low, le=high), BeforeValidator(clamp)


def _whole(given: object) -> int | None:
    if isinstance(given, str) and _DIGITS.fullmatch(given):
        return int(given.partition(".")[0])
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None
