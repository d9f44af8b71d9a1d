"""Defines parsed queries and their conditions: words, phrases, prefixes and fields, combined by Boolean operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

from app.enums import ExpressionError, QueryType

OPERATORS = ("AND", "OR", "NOT")
Field = Literal["title", "heading"]
"""A part of a document's text to which a condition may be restricted."""
ConditionPlan = Literal["none", "postings", "text_index", "rows"]
"""How the chunks that meet a query's conditions are found. With `rows`, each candidate is tested."""


@dataclass(frozen=True, slots=True)
class IndexText:
    """Text for the analysis of Postgres, with accents folded and with accents kept; see `tsvector_text`."""

    folded: str
    plain: str


EMPTY = IndexText("", "")


@dataclass(frozen=True, slots=True)
class TextCondition:
    """A word or phrase, as written and as indexed. A prefix stands for all words that begin with it."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False
    field: Field | None = None
    indexed: IndexText = EMPTY


@dataclass(frozen=True, slots=True)
class Negation:
    """A condition that a hit must not meet."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Combination:
    """Conditions that a hit must all meet (`and`), or one of which it must meet (`or`)."""

    operator: Literal["and", "or"]
    conditions: tuple[Condition, ...]


Condition = TextCondition | Negation | Combination


def operands(condition: Condition, *, wanted: bool | None = None) -> Iterator[TextCondition]:
    """The operands of a condition, in order. With `wanted`, only the wanted or only the unwanted operands."""
    match condition:
        case TextCondition():
            if wanted is not False:
                yield condition
        case Negation():
            yield from operands(condition.condition, wanted=None if wanted is None else not wanted)
        case Combination():
            for part in condition.conditions:
                yield from operands(part, wanted=wanted)


def map_operands(condition: Condition, change: Callable[[TextCondition], TextCondition]) -> Condition:
    """Applies `change` to each operand of a condition."""
    match condition:
        case TextCondition():
            return change(condition)
        case Negation():
            return Negation(map_operands(condition.condition, change))
        case Combination():
            return replace(condition, conditions=tuple(map_operands(part, change) for part in condition.conditions))


def combine(operator: Literal["and", "or"], conditions: Sequence[Condition]) -> Condition:
    """Combines conditions by `and` or `or`."""
    return conditions[0] if len(conditions) == 1 else Combination(operator, tuple(conditions))


def write(condition: Condition) -> str:
    """Writes the condition in the query language."""
    match condition:
        case TextCondition(text=text):
            escape = "\\" if text in OPERATORS or text[:1] in ("+", "-", "(") else ""
            written = f'"{text}"' if condition.is_phrase else f"{escape}{text}"
            return f"{f'{condition.field}:' if condition.field else ''}{written}{'*' if condition.is_prefix else ''}"
        case Negation():
            return f"NOT {write(condition.condition)}"
        case Combination():
            return f"({f' {condition.operator.upper()} '.join(map(write, condition.conditions))})"


def is_simple(condition: Condition) -> TypeGuard[TextCondition]:
    """Whether a condition is a word or phrase, no prefix, that may stand anywhere in a text."""
    return isinstance(condition, TextCondition) and not condition.is_prefix and condition.field is None


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query.

    `text` is embedded; it has no operators, and excluded words only if there are no others. `words` are scored by BM25,
    and any of them may match. `required`, `phrases` and `excluded` are conditions: words or phrases as written, without
    operators or quotes. `groups` has the other conditions of an expression. `expression_error` says why an expression
    was read as words. `signed` has the words that a minus sign directly before them excludes, with the sign.
    """

    text: str
    words: str
    required: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    query_type: QueryType = "keyword"
    groups: tuple[Condition, ...] = ()
    expression_error: ExpressionError | None = None
    signed: tuple[str, ...] = ()
