"""Splits a query into words, phrases, prefixes, fields, operators, signs and parentheses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from app.text.queries import operators
from app.text.queries.conditions import Field

Kind = Literal["(", ")", "+", "-", "AND", "OR", "NOT", "field", "phrase", "word", "prefix", "mark"]
"""A mark is a word without letters and digits, such as "&". It means nothing to the grammar."""

OPERATORS = frozenset({"AND", "OR", "NOT", "+", "-"})
CONDITIONS = frozenset({*OPERATORS, "phrase", "prefix", "field"})
"""Kinds of tokens that make a condition, or a group of what stands in parentheses."""
_BINDING = frozenset({*OPERATORS, "field"})
EDGES = ".,;:!?…()[]{}'’‘" + '"“”„«»'

_QUOTES = '"“”„«»'
_FIELD = re.compile(rf"({'|'.join(get_args(Field))}):(?=\S)")
_ESCAPE = re.compile(r"\\([()\"*+:-]|(?:AND|OR|NOT)(?=[\s)]|$))")
_PHRASE = re.compile(r'["“”„«]([^"“”„«»]*)["“”»](?=[\s.,;:!?)]|$)')
_SIGN = re.compile(r"[+-](?=[\w(\"“„«\\])(?![\d.,]+(?:\s|$))(?!_)")
_SIGNED_WORD = re.compile(r"[+-](?P<word>\w[^\s()]*)")
_ONE_IS_ENOUGH = re.compile("[^\x00-\u0dff]")
"""A prefix has two characters or more, one of them a letter; in scripts without spaces one is enough."""
_LETTER = re.compile(r"[^\W\d_]")
_CONTENT = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a query, its text without quotes, stars, colons and backslashes."""

    kind: Kind
    text: str


def read(query: str, *, literal: Collection[str]) -> list[Token]:
    """The tokens of a normalised query; parentheses that group nothing are characters of words.

    `literal` are words whose minus sign belongs to them, such as "-rf".
    """
    grouped = list(_tokens(query, literal, groups=True))
    return grouped if _has_group(grouped) else list(_tokens(query, literal, groups=False))


def read_flat(query: str, *, literal: Collection[str]) -> list[Token]:
    """The tokens of a normalised query in which no parenthesis groups anything."""
    return list(_tokens(query, literal, groups=False))


def has_group_operator(tokens: Sequence[Token]) -> bool:
    """Whether an operator, a sign or a field stands directly before or after a group, or inside one."""
    return any(
        token.kind in _BINDING and (depth > 0 or before == ")" or after == "(")
        for token, depth, before, after in _with_neighbours(tokens)
    )


def _has_group(tokens: Sequence[Token]) -> bool:
    """Whether a parenthesis groups something: a condition stands in it or an operator beside it."""
    inside = any(depth > 0 and token.kind in CONDITIONS for token, depth, _, _ in _with_neighbours(tokens))
    return inside or has_group_operator(tokens)


def _with_neighbours(tokens: Sequence[Token]) -> Iterator[tuple[Token, int, Kind | None, Kind | None]]:
    """Each token with the number of open parentheses before it, and the kinds of its neighbours."""
    depth = 0
    kinds = [None, *(token.kind for token in tokens), None]
    for token, before, after in zip(tokens, kinds, kinds[2:], strict=False):
        yield token, depth, before, after
        depth += {"(": 1, ")": -1}.get(token.kind, 0)


def _tokens(query: str, literal: Collection[str], *, groups: bool) -> Iterator[Token]:
    places = operators.places(query)
    is_question = operators.is_question(query, query.split())
    at = depth = 0
    while at < len(query):
        character = query[at]
        if character.isspace():
            at += 1
        elif groups and character in "()":
            depth += 1 if character == "(" else -1
            yield Token(cast("Kind", character), "")
            at += 1
        elif _is_operator_sign(query, at, literal, is_question=is_question):
            yield Token(cast("Kind", character), "")
            at += 1
        elif found := _FIELD.match(query, at):
            yield Token("field", found[1])
            at = found.end()
        elif found := _PHRASE.match(query, at):
            if text := found[1].strip():
                yield Token("phrase" if _CONTENT.search(text) else "mark", text)
            at = found.end()
        else:
            token, at = _word(query, at, is_operator=at in places, closes=depth > 0)
            if token.text:
                yield token


def _is_operator_sign(query: str, at: int, literal: Collection[str], *, is_question: bool) -> bool:
    """Whether a sign requires or excludes what follows. In a question a minus excludes only what is in quotes.

    The minus of a word belongs to it if the word is a single letter, or has a digit or a capital: -f, -40°C, -Xmx4g.
    """
    if not _SIGN.match(query, at):
        return False
    if query[at] == "+" or query[at + 1] in _QUOTES:
        return True
    if is_question:
        return False
    word = _SIGNED_WORD.match(query, at)
    return word is None or not (_has_own_sign(word["word"].strip(EDGES)) or word[0].strip(EDGES) in literal)


def _has_own_sign(word: str) -> bool:
    is_letter = len(word) == 1 and word.lower() != word.upper()
    return is_letter or any(character.isdigit() or character.isupper() for character in word)


def _word(query: str, at: int, *, is_operator: bool, closes: bool) -> tuple[Token, int]:
    """The word or operator that begins at a place, and where it ends.

    With `closes`, it ends before a parenthesis that closes none of its own.
    """
    text: list[str] = []
    own, has_star = 0, False
    while at < len(query) and not query[at].isspace():
        if found := _ESCAPE.match(query, at):
            text.append(found[1])
            at = found.end()
            continue
        own += {"(": 1, ")": -1}.get(query[at], 0)
        if own < 0 and closes:
            break
        has_star |= query[at] == "*"
        text.append(query[at])
        at += 1
    word = "".join(text)
    if is_operator:
        return Token(cast("Kind", word), word), at
    if has_star and (prefix := _prefix(word)):
        return Token("prefix", prefix), at
    return Token("word" if _CONTENT.search(word) else "mark", word.strip(_QUOTES)), at


def _prefix(word: str) -> str | None:
    """The part of a word before the one star that ends it; None if the word is no prefix."""
    body, star, rest = word.partition("*")
    bare = body.lstrip(EDGES)
    if not star or rest.strip(EDGES) or not bare or not bare[-1].isalnum():
        return None
    is_enough = (len(bare) > 1 and _LETTER.search(bare)) or _ONE_IS_ENOUGH.match(bare)
    return bare if is_enough else None
