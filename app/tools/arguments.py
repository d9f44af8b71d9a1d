"""Defines the base model and the field types of tool arguments.

Unknown arguments are rejected and null means the default. Numbers out of range are clamped, because a model that sends
1000 means "many"; whole numbers may be strings or have a fraction of zero, because models write them so.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,18}(?:\.0{1,18})?\s*")


class ToolArguments(BaseModel):
    """Base of the arguments of every tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


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
