"""Defines the conditions of expressions: words, phrases, prefixes and fields, combined by Boolean operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

Field = Literal["title", "heading"]
"""A part of a document's text that a condition may be restricted to."""
ConditionPlan = Literal["none", "postings", "text_index", "rows"]
"""How the chunks that meet a query's conditions are found; `rows`: each candidate is tested."""


@dataclass(frozen=True, slots=True)
class IndexText:
    """Text for the analysis of Postgres, with accents folded and with accents kept; see `text.lexical`."""

    folded: str
    plain: str


EMPTY = IndexText("", "")


@dataclass(frozen=True, slots=True)
class TextCondition:
    """A word or phrase, as it is written and as it is indexed; a prefix stands for all words that begin with it."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False
    field: Field | None = None
    indexed: IndexText = EMPTY


@dataclass(frozen=True, slots=True)
class Negation:
    """What must not be met."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Combination:
    """Conditions of which all must be met, or one."""

    operator: Literal["and", "or"]
    conditions: tuple[Condition, ...]


Condition = TextCondition | Negation | Combination


def operands(condition: Condition, *, wanted: bool | None = None) -> Iterator[TextCondition]:
    """The operands of a condition in their order; only those that are wanted, or not wanted, if that is given."""
    for operand, is_wanted in _with_sign(condition, True):
        if wanted is None or is_wanted is wanted:
            yield operand


def _with_sign(condition: Condition, is_wanted: bool) -> Iterator[tuple[TextCondition, bool]]:
    match condition:
        case TextCondition():
            yield condition, is_wanted
        case Negation():
            yield from _with_sign(condition.condition, not is_wanted)
        case Combination():
            for part in condition.conditions:
                yield from _with_sign(part, is_wanted)


def mapped(condition: Condition, change: Callable[[TextCondition], TextCondition]) -> Condition:
    """The condition with each operand changed."""
    match condition:
        case TextCondition():
            return change(condition)
        case Negation():
            return Negation(mapped(condition.condition, change))
        case Combination():
            return replace(condition, conditions=tuple(mapped(part, change) for part in condition.conditions))


def every(conditions: list[Condition]) -> Condition:
    """The condition that all of some conditions are met."""
    return conditions[0] if len(conditions) == 1 else Combination("and", tuple(conditions))


def any_of(conditions: list[Condition]) -> Condition:
    """The condition that one of some conditions is met."""
    return conditions[0] if len(conditions) == 1 else Combination("or", tuple(conditions))
