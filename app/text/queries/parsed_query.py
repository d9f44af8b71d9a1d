"""Defines a parsed query."""

from __future__ import annotations

from dataclasses import dataclass

from app.kinds import ExpressionError, QueryType
from app.text.queries.conditions import Condition


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query.

    `text` is embedded: no operators, no excluded words. `words` are scored by BM25, and any of them may match.
    `required`, `phrases` and `excluded` are conditions: words or phrases as written, without operators or quotes.
    `groups` are the conditions of an expression that are not of these forms. `expression_error` says why an expression
    was read as words. `signed` are the words excluded by a minus sign directly before them, with the sign.
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
