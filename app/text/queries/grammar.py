"""Reads the query language into clauses.

    query   = { clause }                       clauses beside each other
    clause  = all { "OR" all }                 AND binds more tightly than OR
    all     = signed { "AND" signed }
    signed  = { "NOT" | "-" | "+" } operand    NOT and - exclude, two of them require; + requires
    operand = [field ":"] (word | word"*" | "phrase" | "(" query ")")

A clause of words, also with OR between them, is optional: a hit may meet it. A clause that is one operand with NOT or -
is excluded. Every other clause is required. The same holds within a group: a passage meets a group if it meets what the
group requires, or one of its optional clauses if it requires nothing, and nothing that the group excludes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from app.kinds import ExpressionError
from app.text.queries.conditions import (
    Combination,
    Condition,
    Field,
    Negation,
    TextCondition,
    any_of,
    every,
    mapped,
    operands,
)
from app.text.queries.operators import OPERATORS
from app.text.queries.tokens import Kind, Token

MAX_DEPTH = 4
"""Groups within groups."""
MAX_OPERANDS = 64
"""Words, phrases and prefixes in conditions that are more than a word or phrase."""
GROUP_ERRORS = frozenset({"unclosed_group", "unopened_group", "empty_group", "too_deep"})

Role = Literal["optional", "required", "excluded"]


class UnreadableError(Exception):
    """A query is not in the language."""

    def __init__(self, reason: ExpressionError) -> None:
        super().__init__(reason)
        self.reason: ExpressionError = reason


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a query, and whether a hit may, must or must not meet it."""

    condition: Condition
    role: Role


@dataclass(frozen=True, slots=True)
class QueryReading:
    """The clauses of a query in their order, and the places of the tokens that it excludes."""

    clauses: tuple[Clause, ...]
    excluded: frozenset[int]


def read(tokens: Sequence[Token]) -> QueryReading:
    """The clauses of a query of these tokens. Raises UnreadableError."""
    parser = _Parser(tokens)
    clauses = [part for clause in parser.query() for part in _parts(clause)]
    if parser.kind is not None:
        raise UnreadableError("unopened_group")
    conditions = [clause.condition for clause in clauses if clause.role != "optional"]
    if sum(len(list(operands(one))) for one in conditions if not is_simple(one)) > MAX_OPERANDS:
        raise UnreadableError("too_many_operands")
    return QueryReading(tuple(clauses), frozenset(parser.excluded))


def write(condition: Condition) -> str:
    """The condition as it can be written in a query."""
    match condition:
        case TextCondition():
            text = f'"{condition.text}"' if condition.is_phrase else _escape(condition.text)
            return f"{f'{condition.field}:' if condition.field else ''}{text}{'*' if condition.is_prefix else ''}"
        case Negation():
            return f"NOT {write(condition.condition)}"
        case Combination():
            return f"({f' {condition.operator.upper()} '.join(map(write, condition.conditions))})"


def is_simple(condition: Condition) -> bool:
    """Whether a condition is a word or phrase of the whole text."""
    return isinstance(condition, TextCondition) and not condition.is_prefix and condition.field is None


def _escape(text: str) -> str:
    return f"\\{text}" if text in OPERATORS or text[:1] in ("+", "-", "(") else text


def _parts(clause: Clause) -> Iterator[Clause]:
    """The clauses that a clause is made of, so that as many as possible are a word or phrase."""
    match clause.role, clause.condition:
        case "required", Combination("and", parts):
            for part in parts:
                yield from _parts(Clause(part, "required"))
        case "required", Negation(condition):
            yield from _parts(Clause(condition, "excluded"))
        case "excluded", Combination("or", parts):
            for part in parts:
                yield from _parts(Clause(part, "excluded"))
        case "optional", Combination("or", parts):
            for part in parts:
                yield Clause(part, "optional")
        case _:
            yield clause


class _Parser:
    """Reads clauses from tokens, and notes the places of those that are excluded."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = [(place, token) for place, token in enumerate(tokens) if token.kind != "mark"]
        self._at = self._depth = 0
        self._is_negated = False
        self.excluded: set[int] = set()

    @property
    def kind(self) -> Kind | None:
        """The kind of the next token; None at the end."""
        return self._tokens[self._at][1].kind if self._at < len(self._tokens) else None

    def query(self) -> list[Clause]:
        """The clauses up to the end of the group or query."""
        found: list[Clause] = []
        while self.kind not in (None, ")"):
            found += self._clause()
        return found

    def _clause(self) -> list[Clause]:
        is_operand = self.kind not in ("+", "-", "NOT")
        group = self._group() if self.kind == "(" else None
        if group is not None and self.kind not in ("AND", "OR") and all(_is_word(one) for one in group):
            return group  # parentheses of a text
        parts = [self._all(None if group is None else _of_group(group))]
        while self._skip("OR"):
            parts.append(self._all(None))
        condition = any_of(parts)
        if isinstance(condition, Negation):
            return [Clause(condition.condition, "excluded")]
        is_optional = is_operand and group is None and all(map(_is_plain, parts))
        return [Clause(condition, "optional" if is_optional else "required")]

    def _all(self, first: Condition | None) -> Condition:
        parts = [first or self._signed()]
        while self._skip("AND"):
            parts.append(self._signed())
        return every(parts)

    def _signed(self) -> Condition:
        is_negated = False
        while sign := self._skip("NOT", "-", "+"):
            is_negated ^= sign != "+"
        self._is_negated ^= is_negated
        condition = self._operand()
        self._is_negated ^= is_negated
        return Negation(condition) if is_negated else condition

    def _operand(self) -> Condition:
        field: Field | None = None
        while self.kind == "field":
            field = cast("Field", self._tokens[self._at][1].text)
            self._at += 1
        if self.kind == "(":
            group = _of_group(self._group())
            return mapped(group, lambda one: replace(one, field=one.field or field))
        if self.kind not in ("word", "phrase", "prefix"):
            raise UnreadableError("missing_operand")
        place, token = self._tokens[self._at]
        self._at += 1
        if self._is_negated:
            self.excluded.add(place)
        return TextCondition(token.text, token.kind == "phrase", token.kind == "prefix", field)

    def _group(self) -> list[Clause]:
        """The clauses of a group, whose parenthesis is the next token."""
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnreadableError("too_deep")
        clauses = self.query()
        if not self._skip(")"):
            raise UnreadableError("unclosed_group")
        if not clauses:
            raise UnreadableError("empty_group")
        self._depth -= 1
        return clauses

    def _skip(self, *kinds: Kind) -> Kind | None:
        """The kind of the next token, which is read, if it is one of these."""
        found = self.kind if self.kind in kinds else None
        self._at += found is not None
        return found


def _of_group(clauses: Sequence[Clause]) -> Condition:
    """The condition of a group: what it requires, or else one of its clauses, and none that it excludes."""
    required = [one.condition for one in clauses if one.role == "required"]
    optional = [one.condition for one in clauses if one.role == "optional"]
    excluded: list[Condition] = [Negation(one.condition) for one in clauses if one.role == "excluded"]
    wanted = required or ([any_of(optional)] if optional else [])
    return every([*wanted, *excluded])


def _is_word(clause: Clause) -> bool:
    return clause.role == "optional" and _is_plain(clause.condition)


def _is_plain(condition: Condition) -> bool:
    """Whether a condition is a word of the whole text."""
    return isinstance(condition, TextCondition) and is_simple(condition) and not condition.is_phrase
