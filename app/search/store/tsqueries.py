"""Compiles a query with groups, such as `(a OR b) c*`, to a tsquery for each text-search configuration of the user.

The phrases, required words and excluded words of the query are compiled with the groups. A query without groups is not
compiled: the statements analyse its conditions themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.database import sql
from app.database.transactions import Reading
from app.query.search_types import LexicalQuery
from app.search.store import stored_words
from app.text.queries import parsed_query
from app.text.queries.parsed_query import Combination, Condition, ConditionPlan, Field, Negation, TextCondition

MAX_EXPANSIONS = 32
"""Most words that are scored for a prefix. The most frequent are chosen."""
LABELS: dict[Field, str] = {"title": "AC", "heading": "BC"}
"""The labels of a field's words in the tsvectors: A in titles, B in headings, C in titles that are headings."""
ANY_FIELD = "ABCD"
_PREFIX = re.compile(r"'((?:[^']|'')+)':\*")

_OPERAND_QUERIES = sql.inline(
    """
    SELECT s.config, array_agg(CAST(CASE WHEN o.is_prefix AND o.folded NOT LIKE '% %' THEN q.query || r.query
                                         ELSE {{within_one_field q.query, o.labels}} END AS text) ORDER BY o.place)
           AS queries
    FROM stepwell.text_statistics AS s
    CROSS JOIN unnest(
        :folded::text[], :plain::text[], :suffixes::text[], :labels::text[], :prefixes::boolean[]) WITH ORDINALITY
        AS o (folded, plain, suffix, labels, is_prefix, place)
    CROSS JOIN LATERAL (SELECT {{text_for s.config, o.folded, o.plain}} AS written) AS t
    CROSS JOIN LATERAL (SELECT CASE WHEN t.written = '' THEN CAST('' AS tsquery)
        ELSE to_tsquery(CAST(s.config AS regconfig), '''' || t.written || '''' || o.suffix) END AS query) AS q
    CROSS JOIN LATERAL (SELECT CASE WHEN t.written = '' THEN CAST('' AS tsquery)
        ELSE to_tsquery('simple', '''' || t.written || '''' || o.suffix) END AS query) AS r
    WHERE s.user_id = :user_id AND s.chunks > 0
    GROUP BY s.config
    """
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """The conditions of an expression by configuration, without configurations that index none of its words.

    `wanted` is the query that finds the chunks of all configurations in the text index; None if a chunk may meet the
    conditions without containing any of the words. `expansions` are stored lexemes that begin with its prefixes.
    """

    queries: dict[str, str]
    wanted: str | None
    expansions: tuple[str, ...] = ()

    @property
    def plan(self) -> ConditionPlan:
        """How the chunks that meet the conditions are found."""
        return "none" if not self.queries else "rows" if self.wanted is None else "text_index"

    @property
    def binds(self) -> dict[str, Any]:
        """The binds of the part `indexed` of a statement."""
        return {
            "condition_configs": list(self.queries),
            "condition_queries": list(self.queries.values()),
            "condition_wanted": self.wanted or "",
            "condition_nominates": self.wanted is not None,
            "expansions": list(self.expansions),
        }


async def compile(db: Reading, lexical: LexicalQuery) -> Compiled:
    """Compiles the conditions of a query with groups: the groups, phrases, and required and excluded words.

    As in Postgres, an operand that a configuration does not index imposes nothing, nor does a group of such operands.
    """
    condition = _whole(lexical)
    every = list(parsed_query.operands(condition))
    binds = {
        "user_id": db.user_id,
        "folded": [one.indexed.folded for one in every],
        "plain": [one.indexed.plain for one in every],
        "suffixes": [_suffix(one) for one in every],
        "labels": [LABELS[one.field] if one.field else ANY_FIELD for one in every],
        "prefixes": [one.is_prefix for one in every],
    }
    rows = await db.execute(_OPERAND_QUERIES, binds)
    by_config = {row.config: _with_queries(condition, row.queries) for row in rows}
    queries = {config: text for config, analysed in by_config.items() if (text := _text(analysed))}
    is_found = bool(by_config) and all(map(_needs_something, by_config.values()))
    wanted = " | ".join(f"( {query} )" for query in dict.fromkeys(queries.values())) if is_found else None
    return Compiled(queries, wanted, await _expansions(db, by_config.values()))


def _whole(lexical: LexicalQuery) -> Combination:
    required = (TextCondition("", indexed=text) for text in lexical.strict)
    excluded = (Negation(TextCondition("", indexed=text)) for text in lexical.excluded)
    return Combination("and", (*required, *excluded, *lexical.groups))


def _suffix(operand: TextCondition) -> str:
    """The suffix of an operand in the syntax of tsquery: a star for a prefix, and the labels of its field."""
    marks = f"{'*' if operand.is_prefix else ''}{LABELS[operand.field] if operand.field else ''}"
    return f":{marks}" if marks else ""


def _with_queries(condition: Condition, queries: Sequence[str]) -> Condition:
    """Sets the text of each operand to its tsquery, which is empty if the configuration does not index the operand."""
    following = iter(queries)
    return parsed_query.map_operands(condition, lambda operand: replace(operand, text=next(following)))


def _text(condition: Condition) -> str:
    """The tsquery of an analysed condition as text; empty if it imposes nothing."""
    match condition:
        case TextCondition():
            return condition.text
        case Negation():
            negated = _text(condition.condition)
            return f"!( {negated} )" if negated else ""
        case Combination():
            parts = [text for part in condition.conditions if (text := _text(part))]
            operator = " & " if condition.operator == "and" else " | "
            return operator.join(f"( {part} )" for part in parts) if len(parts) > 1 else "".join(parts)


def _needs_something(condition: Condition) -> bool:
    """Whether every chunk that meets an analysed condition contains one of its operands."""
    match condition:
        case TextCondition():
            return bool(condition.text)
        case Negation():
            return False
        case Combination():
            needs = [_needs_something(part) for part in condition.conditions if _text(part)]
            return any(needs) if condition.operator == "and" else bool(needs) and all(needs)


async def _expansions(db: Reading, analysed: Iterable[Condition]) -> tuple[str, ...]:
    """The stored lexemes that begin with the wanted prefixes."""
    wanted = (one for condition in analysed for one in parsed_query.operands(condition, wanted=True) if one.is_prefix)
    prefixes = dict.fromkeys(text.replace("''", "'") for one in wanted for text in _PREFIX.findall(one.text))
    if not prefixes:
        return ()
    stored = await stored_words.find_by_prefix(db, list(prefixes), limit=MAX_EXPANSIONS)
    return tuple(dict.fromkeys(lexeme for lexemes in stored.values() for lexeme in lexemes))
