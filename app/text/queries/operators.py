"""Finds the words AND, OR and NOT of a query that are operators and not words of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.text.words import stop_words

OPERATORS = ("AND", "OR", "NOT")
_OPERATOR = re.compile(r"(?<![^\s(])(?:AND|OR|NOT)(?=[\s)]|$)")
_PART = re.compile(r"[()]|\S[^\s()]*")
_QUOTES = '"“”„«»'
_EDGES = ".,;:!?…()[]'’‘"


def places(query: str) -> frozenset[int]:
    """Returns the offsets of the operators of a normalised query.

    They are in capitals, and none in a query that is all capitals. In a question they are words, unless a group needs
    them; so are those beside a function word ("what is NOT covered", "the limits OR the terms").
    """
    if not any(operator in query for operator in OPERATORS):
        return frozenset()
    found = [match.start() for match in _OPERATOR.finditer(query)]
    if not found or is_all_capitals(query):
        return frozenset()
    if is_question(query, query.split()) and not has_operator_at_group(query):
        return frozenset()
    return frozenset(place for place in found if not _is_in_sentence(query, place))


def has_operator_at_group(query: str) -> bool:
    """Returns whether an operator or a sign stands beside a parenthesis, or an operator between two words in one."""
    before, inside = "", 0
    for match in _PART.finditer(query):
        part = match[0]
        if part == "(" and (before in OPERATORS or before in ("+", "-")):
            return True
        if part in OPERATORS and (before == ")" or (inside > 0 and before not in ("(", ""))):
            return True
        inside += {"(": 1, ")": -1}.get(part, 0)
        before = part
    return False


def is_all_capitals(query: str) -> bool:
    """Returns whether the query is all capitals, apart from operators."""
    return re.sub(r"\b(?:AND|OR|NOT)\b", "", query).isupper()


def is_question(text: str, words: Sequence[str]) -> bool:
    """Returns whether a text of these words begins with a question word or has a question mark."""
    begins = len(words) > 1 and words[0].lower() in stop_words.QUESTION_WORDS
    return begins or text.rstrip().endswith(("?", "？")) or text.startswith("¿")


def _is_in_sentence(query: str, place: int) -> bool:
    """Whether the word before or after an operator is a function word."""
    before = query[max(0, place - 20) : place].rsplit(maxsplit=1)
    after = query[place : place + 24].split(maxsplit=2)[1:2]
    return any(_is_function_word(word) for word in (*before[-1:], *after))


def _is_function_word(word: str) -> bool:
    bare = word.strip(_EDGES)
    is_quoted = word[0] in _QUOTES or word[-1] in _QUOTES
    return len(bare) > 1 and not is_quoted and bare not in OPERATORS and bare.lower() in stop_words.FUNCTION_WORDS
