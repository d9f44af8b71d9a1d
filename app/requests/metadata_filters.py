"""Validates the metadata of a filter: values, and objects of operators such as `{"gte": 2020}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from app.database.filter_types import BOUNDS, OPERANDS, OPERATORS, is_operator_object
from app.requests import fields
from app.text import dates

KNOWN = ", ".join(OPERATORS)
IN_SEARCHES = "Values of metadata by key, or operators, as in search_documents."
_VALUE = 'send the value itself, as {"key": value}; of a list, one element must be it'
_NOT_IN = "use `ne` for one value, or `filters.not` around a filter with `in` for several"
_PART = "filters compare whole values: send the whole value, or search for the words in `query`"
_BEGINNING = f"{_PART}; `filters.uri_prefix` and `filters.folder` compare the beginning of a URI"
_ADVICE = {
    "eq equal equals equalto == =": _VALUE,
    "neq noteq notequal notequals notequalto != <>": "use `ne`",
    "nin notin noneof": _NOT_IN,
    "anyof oneof containsany hasany arraycontainsany overlaps": "use `in`",
    "allof containsall hasall arraycontainsall": "use `filters.all` with a filter for each value",
    "contains has includes arraycontains containselement": f"{_VALUE}. Besides, {_PART}",
    "notcontains doesnotcontain excludes": "use `ne`, which a list must not contain either",
    "between inrange": "use `gte` and `lte` together",
    "greaterthan morethan >": "use `gt`",
    "greaterthanorequal greaterthanorequals greaterthanorequalto greaterthanequal ge >=": "use `gte`",
    "lessthan <": "use `lt`",
    "lessthanorequal lessthanorequals lessthanorequalto lessthanequal le <=": "use `lte`",
    "like ilike notlike notilike substring icontains regex regexp iregex matches ~ ~*": _PART,
    "startswith beginswith istartswith prefix": _BEGINNING,
    "endswith iendswith suffix": f"{_PART}; `filters.file_types` compares the suffix of a file",
    "isnull": "send null itself, or use `exists` with false for a key that is absent",
    "isnotnull notnull notexists": "use `exists`, or `ne` with null",
}
_ADVICE_BY_NAME = {name: advice for names, advice in _ADVICE.items() for name in names.split()}
_JOINTS = re.compile(r"[\s_-]")
"""What to send instead of operators of other systems, by their names in lower case without joints."""


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
    if (advice := _advise(given)) is not None:
        raise PydanticCustomError("unknown_operator", f"Has a key that is no operator here: {advice}.")
    return given


def _advise(given: Any) -> str | None:
    """What to send instead of the operator of another system in an object; None if there is none."""
    if not isinstance(given, Mapping):
        return None
    for key, inner in given.items():
        name = _JOINTS.sub("", key).lower().removeprefix("$")
        if (advice := _ADVICE_BY_NAME.get(name) or _advise(inner)) is not None:
            return advice
    return None


def _unknown(given: Mapping[str, Any]) -> str:
    advised = _advise(dict.fromkeys(given))
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
    return fields.check_metadata(given) if isinstance(given, dict) else given


MetadataFilter = Annotated[
    dict[str, Annotated[Any, AfterValidator(_condition)]],
    BeforeValidator(_check_metadata),
]
"""Values by key, as the filters of searches take them."""
