"""Defines the base model and the field types of tool arguments.

Unknown arguments are rejected and null means the default. Numbers out of range are clamped, because a model that sends
1000 means "many".
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


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
    """The annotations of an integer that is moved into its range: `Annotated[int, *clamped(1, 20)]`."""

    def clamp(given: object) -> object:
        if isinstance(given, bool) or not isinstance(given, int):
            return given
        return min(max(given, low), high)

    return Field(strict=True, ge=low, le=high), BeforeValidator(clamp)
