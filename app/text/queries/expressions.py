"""Parses Boolean expressions: groups in parentheses, prefixes, fields and escaped operators.

    clauses  = { clause }                      words beside each other; any of them may match
    clause   = ["+" | "-"] operand | "NOT" operand | chain
    chain    = all { "OR" all }                AND binds more tightly than OR
    all      = operand { "AND" operand }       after AND and OR an operand may have NOT, + or -
    operand  = [field ":"] (word | word"*" | "phrase" | "(" clauses ")")

A query is an expression if it has a prefix, a field, an escape, a group that an operator needs, or OR between what is
no plain word. In all other queries parentheses are punctuation, and `analysis` reads the operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from app.shapes import Combination, Condition, ExpressionError, Field, Negation, TextCondition, conditions
from app.text.queries import operators

MAX_DEPTH = 4
"""Groups within groups."""
MAX_OPERANDS = 64

Role = Literal["optional", "required", "excluded"]
_FIELDS = "|".join(get_args(Field))
_MARKS = ("*", "\\", *(f"{name}:" for name in get_args(Field)))
_OPERATORS = (*operators.OPERATORS, "+(", "-(")
_FIELD = re.compile(rf"({_FIELDS}):(?=\S)")
_ESCAPE = re.compile(r"\\([()\"*+:-]|(?:AND|OR|NOT)(?=[\s)]|$))")
_PHRASE = re.compile(r'["“”„«]([^"“”„«»]*)["“”»](?=[\s.,;:!?)]|$)')
_SIGN = re.compile(r"[+-](?=[\w(\"“„«\\])(?![\d.,]+(?:\s|$))(?!_)")
_ONE_IS_ENOUGH = re.compile("[^\x00-\u0dff]")
"""A prefix has two characters or more, one of them a letter; in scripts without spaces one is enough."""
_LETTER = re.compile(r"[^\W\d_]")
_CONTENT = re.compile(r"[^\W_]")
_QUOTES = '"“”„«»'
_EDGES = ".,;:!?…()[]{}'’‘" + _QUOTES

_Kind = Literal["(", ")", "+", "-", "AND", "OR", "NOT", "field", "phrase", "word", "prefix"]
_MEANT = frozenset({"prefix", "field"})


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a query, and whether a hit may, must or must not meet it."""

    condition: Condition
    role: Role


@dataclass(frozen=True, slots=True)
class Expression:
    """The clauses of an expression in their order; with an error, the words of one that cannot be read."""

    clauses: tuple[Clause, ...]
    error: ExpressionError | None = None


def read(query: str) -> Expression | None:
    """Returns the expression that a normalised query is; None if it is none."""
    if not _may_be_expression(query):
        return None
    tokens = list(_tokens(query, operators.places(query)))
    parser = _Parser(tokens)
    try:
        clauses = parser.whole()
    except _UnreadableError as error:
        is_meant = operators.has_operator_at_group(query) and not operators.is_all_capitals(query)
        if is_meant or any(token.kind in _MEANT for token in tokens):
            return Expression(tuple(_words(tokens)), error.reason)
        return None
    return Expression(tuple(clauses)) if parser.is_expression else None


def _may_be_expression(query: str) -> bool:
    """Whether a query contains what every expression contains, so that others are read no further."""
    if any(mark in query for mark in _MARKS):
        return True
    return ("(" in query or "OR" in query) and any(operator in query for operator in _OPERATORS)


def written(condition: Condition) -> str:
    """Returns a condition as it can be written in a query."""
    match condition:
        case TextCondition():
            text = f'"{condition.text}"' if condition.is_phrase else _escaped(condition.text)
            return f"{f'{condition.field}:' if condition.field else ''}{text}{'*' if condition.is_prefix else ''}"
        case Negation():
            return f"NOT {written(condition.condition)}"
        case Combination():
            return f"({f' {condition.operator.upper()} '.join(map(written, condition.conditions))})"


def is_simple(condition: Condition) -> bool:
    """Returns whether a condition is a word or phrase of the whole text."""
    return isinstance(condition, TextCondition) and not condition.is_prefix and condition.field is None


def parts(clause: Clause) -> Iterator[Clause]:
    """Returns the clauses that a clause is made of, so that as many as possible are simple."""
    match clause.role, clause.condition:
        case "required", Combination("and", every):
            for part in every:
                yield from parts(Clause(part, "required"))
        case "required", Negation(condition):
            yield from parts(Clause(condition, "excluded"))
        case "excluded", Combination("or", every):
            for part in every:
                yield from parts(Clause(part, "excluded"))
        case "optional", Combination("or", every):
            for part in every:
                yield Clause(part, "optional")
        case _:
            yield clause


def _escaped(text: str) -> str:
    return f"\\{text}" if text in operators.OPERATORS or text[:1] in ("+", "-", "(") else text


@dataclass(frozen=True, slots=True)
class _ExpressionToken:
    kind: _Kind
    text: str = ""
    is_escaped: bool = False


class _UnreadableError(Exception):
    def __init__(self, reason: ExpressionError) -> None:
        super().__init__(reason)
        self.reason: ExpressionError = reason


def _words(tokens: Sequence[_ExpressionToken]) -> Iterator[Clause]:
    """The words of an expression that cannot be read, without conditions."""
    for token in tokens:
        if token.text and token.kind != "field":
            yield Clause(TextCondition(token.text), "optional")


def _tokens(query: str, places: AbstractSet[int]) -> Iterator[_ExpressionToken]:
    at = depth = 0
    while at < len(query):
        character = query[at]
        if character.isspace():
            at += 1
        elif character in "()":
            depth += 1 if character == "(" else -1
            yield _ExpressionToken(cast("_Kind", character))
            at += 1
        elif _SIGN.match(query, at):
            yield _ExpressionToken(cast("_Kind", character))
            at += 1
        elif found := _FIELD.match(query, at):
            yield _ExpressionToken("field", found[1])
            at = found.end()
        elif found := _PHRASE.match(query, at):
            if _CONTENT.search(found[1]):
                yield _ExpressionToken("phrase", found[1].strip())
            at = found.end()
        else:
            token, end = _word(query, at, is_operator=at in places, closes=depth > 0)
            if _CONTENT.search(token.text):
                yield token
            at = end


def _word(query: str, at: int, *, is_operator: bool, closes: bool) -> tuple[_ExpressionToken, int]:
    """The word or operator that begins at a place, and where it ends.

    With `closes`, it ends before a parenthesis that closes none of its own.
    """
    text: list[str] = []
    own, is_escaped, has_star = 0, False, False
    while at < len(query) and not query[at].isspace():
        if found := _ESCAPE.match(query, at):
            text.append(found[1])
            is_escaped, at = True, found.end()
            continue
        own += {"(": 1, ")": -1}.get(query[at], 0)
        if own < 0 and closes:
            break
        has_star |= query[at] == "*"
        text.append(query[at])
        at += 1
    word = "".join(text)
    if is_operator:
        return _ExpressionToken(cast("_Kind", word), word), at
    if has_star and (prefix := _prefix(word)):
        return _ExpressionToken("prefix", prefix), at
    return _ExpressionToken("word", word.strip(_QUOTES), is_escaped), at


def _prefix(word: str) -> str | None:
    """The part of a word before the one star that ends it; None if it is no prefix."""
    body, star, rest = word.partition("*")
    bare = body.lstrip(_EDGES)
    if not star or rest.strip(_EDGES) or not bare or not bare[-1].isalnum():
        return None
    is_enough = (len(bare) > 1 and _LETTER.search(bare)) or _ONE_IS_ENOUGH.match(bare)
    return bare if is_enough else None


class _Parser:
    """Reads clauses from tokens. `is_expression` is known afterwards."""

    def __init__(self, tokens: Sequence[_ExpressionToken]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._operands = 0
        self.is_expression = any(token.kind in _MEANT or token.is_escaped for token in tokens)

    def whole(self) -> list[Clause]:
        """The clauses of the whole query. Raises _UnreadableError."""
        clauses = self._clauses()
        if self._kind is not None:
            raise _UnreadableError("unopened_group")
        return clauses

    @property
    def _kind(self) -> _Kind | None:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else None

    def _skip(self, *kinds: _Kind) -> bool:
        """Whether the next token is of one of these kinds, which is read then."""
        is_next = self._kind in kinds
        self._at += is_next
        return is_next

    def _clauses(self) -> list[Clause]:
        """The clauses up to the end of the group or query."""
        found: list[Clause] = []
        is_required = False
        while self._kind not in (None, ")"):
            if self._kind in ("AND", "OR"):
                # After a clause with a sign or NOT, OR only stands between two clauses.
                if not found:
                    raise _UnreadableError("missing_operand")
                is_required = self._kind == "AND"
                self._at += 1
                if self._kind in (None, ")", "AND", "OR"):
                    raise _UnreadableError("missing_operand")
                continue
            found += self._clause(is_required=is_required)
            is_required = False
        return found

    def _clause(self, *, is_required: bool) -> list[Clause]:
        if self._skip("+"):
            return [Clause(self._operand(), "required")]
        if self._skip("-") or (self._depth == 0 and self._skip("NOT")):
            while self._skip("NOT"):
                pass
            return [Clause(self._operand(), "excluded")]
        first = None
        if self._kind == "(":
            group = self._group()
            if not is_required and self._kind not in ("AND", "OR") and all(_is_word(one) for one in group):
                return group  # parentheses of a text
            self.is_expression = True
            first = _of_group(group)
        condition = self._chain(first)
        if isinstance(condition, Negation):
            return [Clause(condition.condition, "excluded")]
        is_bound = is_required or (self._depth == 0 and not (first is None and _is_plain(condition)))
        return [Clause(condition, "required" if is_bound else "optional")]

    def _chain(self, first: Condition | None) -> Condition:
        parts = [self._all(first)]
        while self._skip("OR"):
            parts.append(self._all(None))
        if len(parts) > 1 and not all(map(is_simple_word, parts)):
            self.is_expression = True
        return conditions.any_of(parts)

    def _all(self, first: Condition | None) -> Condition:
        parts = [first or self._signed()]
        while self._skip("AND"):
            parts.append(self._signed())
        return conditions.every(parts)

    def _signed(self) -> Condition:
        if self._skip("-", "NOT"):
            while self._skip("NOT"):
                pass
            return Negation(self._operand())
        self._skip("+")
        return self._operand()

    def _operand(self) -> Condition:
        name: Field | None = None
        while self._kind == "field":
            name = cast("Field", self._tokens[self._at].text)
            self._at += 1
        if self._kind == "(":
            self.is_expression = True
            group = _of_group(self._group())
            return conditions.mapped(group, lambda one: replace(one, field=one.field or name))
        if self._kind in ("word", "phrase", "prefix"):
            self._at += 1
            return replace(self._text(self._tokens[self._at - 1]), field=name)
        raise _UnreadableError("missing_operand")

    def _text(self, token: _ExpressionToken) -> TextCondition:
        self._operands += 1
        if self._operands > MAX_OPERANDS and self.is_expression:
            raise _UnreadableError("too_many_operands")
        return TextCondition(token.text, is_phrase=token.kind == "phrase", is_prefix=token.kind == "prefix")

    def _group(self) -> list[Clause]:
        """The clauses of a group, whose parenthesis is the next token."""
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _UnreadableError("too_deep")
        clauses = self._clauses()
        if not self._skip(")"):
            raise _UnreadableError("unclosed_group")
        if not clauses:
            raise _UnreadableError("empty_group")
        self._depth -= 1
        return clauses


def _of_group(clauses: Sequence[Clause]) -> Condition:
    """The condition of a group: what it requires, or else one of its clauses, and none that it excludes."""
    required = [one.condition for one in clauses if one.role == "required"]
    optional = [one.condition for one in clauses if one.role == "optional"]
    excluded: list[Condition] = [Negation(one.condition) for one in clauses if one.role == "excluded"]
    wanted = required or ([conditions.any_of(optional)] if optional else [])
    return conditions.every([*wanted, *excluded])


def is_simple_word(condition: Condition) -> bool:
    """Returns whether a condition is a word of the whole text."""
    return is_simple(condition) and not cast("TextCondition", condition).is_phrase


def _is_word(clause: Clause) -> bool:
    return clause.role == "optional" and is_simple_word(clause.condition)


def _is_plain(condition: Condition) -> bool:
    """Whether a condition at the top level is a word, or words of which any may match."""
    if isinstance(condition, Combination) and condition.operator == "or":
        return all(map(is_simple_word, condition.conditions))
    return is_simple_word(condition)
