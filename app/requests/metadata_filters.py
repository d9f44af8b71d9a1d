"""Validates the metadata of a filter: values, and objects of operators such as `{"gte": 2020}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from app.database.filter_types import BOUNDS, OPERANDS, OPERATORS, is_operator_object
from app.database.filters import foreign_operators
from app.requests import wire
from app.text import dates

KNOWN = ", ".join(OPERATORS)
IN_SEARCHES = "Values of metadata by key, or operators, as in search_documents."


def _condition(given: Any) -> Any:
    """The value of a metadata filter, checked. Raises PydanticCustomError."""
    if is_operator_object(given):
        if not given.keys() <= set(OPERATORS):
            raise PydanticCustomError("unknown_operator", _unknown(given))
        checked = {operator: _operand(operator, operand) for operator, operand in given.items()}
        if len({isinstance(checked[operator], str) for operator in checked.keys() & set(BOUNDS)}) > 1:
            raise PydanticCustomError(
                "invalid_range", "The bounds of a range must be all numbers or all dates and times."
            )
        return checked
    if _has_operator(given):
        raise PydanticCustomError(
            "nested_operator", "Operators apply to a key of the metadata, not inside a list or another object."
        )
    return given


def _unknown(given: Mapping[str, Any]) -> str:
    advised = next((advice for key in given if (advice := foreign_operators.advice(key)) is not None), None)
    return (
        f"Has an unknown operator: the operators are {KNOWN}, without $ and without other keys beside them. "
        f"Groups are filters.any, filters.all and filters.not.{f' For this one, {advised}.' if advised else ''}"
    )


def _has_operator(given: Any) -> bool:
    if isinstance(given, Mapping):
        return is_operator_object(given) or any(map(_has_operator, given.values()))
    return isinstance(given, list) and any(map(_has_operator, given))


def _operand(operator: str, operand: Any) -> Any:
    if operator in BOUNDS:
        return _bind(operand)
    expected = OPERANDS[operator]
    if not expected.accepts(operand):
        raise PydanticCustomError("invalid_operand", f"{operator} takes {expected.takes}.")
    return operand


def _bind(operand: Any) -> float | str:
    """A number, or a date or time of ISO 8601."""
    if isinstance(operand, int | float) and not isinstance(operand, bool):
        return operand
    if isinstance(operand, str) and dates.microseconds(operand) is not None:
        return operand
    raise PydanticCustomError(
        "invalid_range",
        "The bounds of a range must be numbers, or dates and times such as 2026-01-31 or 2026-01-31T12:00:00Z.",
    )


def _check_metadata(given: object) -> object:
    # Before the values, of which each may be an error.
    return wire.check_metadata(given) if isinstance(given, dict) else given


MetadataFilter = Annotated[
    dict[str, Annotated[Any, AfterValidator(_condition)]],
    BeforeValidator(_check_metadata),
]
"""Values by key, as the filters of searches take them."""
