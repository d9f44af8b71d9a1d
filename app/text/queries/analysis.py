"""Parses a query into words, phrases, required and excluded words, and classifies its shape."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.shapes import Condition, ParsedQuery, QueryType, TextCondition, conditions
from app.text.queries import expressions, operators
from app.text.queries.expressions import Clause, Expression
from app.text.words import cleaning, stop_words

MIN_SENTENCE_WORDS = 6  # a shorter query with a function word is not a sentence
MAX_WORDS_OUTSIDE_QUOTES = 3  # a question with more words outside its quotes does not require the quoted phrases
MAX_IDENTIFIER_LENGTH = 200  # code points; a longer word is data

_Kind = Literal["word", "phrase", "excluded_word", "excluded_phrase", "operator"]
_OPENERS = '"“”„«'
_CLOSERS = '"“”»'
_TOKEN = re.compile(
    rf"(?<!\S)(?P<sign>[+-])?[{_OPENERS}](?P<phrase>[^{_OPENERS}{_CLOSERS}]*)[{_CLOSERS}](?=[\s.,;:!?)]|$)"
    r"|(?P<word>\S+)"
)
_SIGNED = re.compile(r"[+-](?=\w)(?![\d.,]+$)(?!_)")
_CONTENT = re.compile(r"[^\W_]")
_EDGES = ".,;:!?…()[]{}'’‘" + _OPENERS + _CLOSERS
_IDENTIFIER = re.compile(
    r"[^\W_]+(?:_+[^\W_]+)+|_++[^\W_]\w*+"  # snake_case, __init__
    r"|[a-z]{2,}\d*(?:[A-Z][a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+){3,}|[A-Z]\w*(?:Error|Exception)"  # camelCase
    r"|v\d+(?:\.\d+)+\S*|\d+\.\d+\.\d+\S*"  # versions, addresses
    r"|[A-Z]{1,8}-?\d{3,}|0x[\da-fA-F]+|(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,40}"  # codes
    r"|--[a-z][a-z0-9-]*=?\S*"  # flags
    r"|(?:[A-Za-z]:|~|\.{0,2})?[/\\][\w.-]+(?:[/\\][\w.-]*)*|https?://\S+|\S+@[\w-]+\.[\w.-]+"  # paths, addresses
    r"|[\w-]+(?:/[\w.-]+)*/[\w-]+\.[a-z]{1,5}|[a-z0-9_-]{2,}(?:\.[a-z0-9_]{1,})+|\w+\(\)|\w+::\w+\S*"
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of the query; `required` marks a + or an AND, `is_idle` an operator that lacks its neighbours."""

    kind: _Kind
    text: str
    required: bool = False
    is_idle: bool = False


def length(query: str) -> int:
    """Returns the number of characters of a query, or of its NFKC where that is longer: its words are indexed so.

    One ligature may stand for 18 characters (U+FDFA).
    """
    return max(len(query), len(unicodedata.normalize("NFKC", query)))


def normalise(query: str) -> str:
    """Returns the query in NFC, without control and invisible characters, each run of white space one space."""
    return " ".join(cleaning.clean(query).text.split())


def parse(query: str) -> ParsedQuery:
    """Parses a query; anything that is not clearly an operator is plain text, so no query is rejected.

    An expression (`expressions`) is parsed as such; one that cannot be read has words only, and an `expression_error`.
    "…" (straight or curly) is a phrase; +word and the neighbours of AND are required; -word, -"…" and the word
    after NOT are excluded; OR is dropped. AND, OR and NOT count where `operators.places` finds them; a sign counts at
    the start of a word only, and not before a bare number. A query of exclusions alone keeps the excluded words in
    `text` (something must be embedded) and has no `words`. Quotes in a question that has more words outside than inside
    them are a title or saying that it is about, not a required phrase.
    """
    query = normalise(query)
    if (expression := expressions.read(query)) is not None:
        return _of_expression(expression, query)
    tokens = _resolved(_tokens(query))
    wanted = [token for token in tokens if token.kind in ("word", "phrase")]
    phrases = tuple(token.text for token in wanted if token.kind == "phrase")
    words = " ".join(token.text for token in wanted)
    if _has_incidental_quotes([token.text for token in wanted if token.kind == "word"], phrases, words):
        phrases = ()
    text = words or " ".join(token.text for token in tokens) or query
    return ParsedQuery(
        text=text,
        words=words,
        required=_distinct(_bare(token.text) for token in wanted if token.required and token.kind == "word"),
        phrases=_distinct(phrases),
        excluded=_distinct(_bare(token.text) for token in tokens if token.kind.startswith("excluded")),
        query_type="phrase" if phrases else query_type(text),
        expression_error="missing_operand" if any(token.is_idle for token in tokens) else None,
    )


def _of_expression(expression: Expression, query: str) -> ParsedQuery:
    clauses = [part for clause in expression.clauses for part in expressions.parts(clause)]
    by_role: dict[str, list[TextCondition]] = {"optional": [], "required": [], "excluded": [], "phrase": []}
    groups: list[Condition] = []
    for clause in clauses:
        one = clause.condition
        if clause.role != "optional" and not expressions.is_simple(one):
            groups.append(one if clause.role == "required" else conditions.Negation(one))
        elif isinstance(one, TextCondition):
            by_role["phrase" if clause.role == "required" and one.is_phrase else clause.role].append(one)
    words = " ".join(operand.text for clause in clauses for operand in _scored(clause))
    text = words or " ".join(one.text for clause in clauses for one in conditions.operands(clause.condition)) or query
    phrases = _distinct(one.text for one in by_role["phrase"])
    return ParsedQuery(
        text=text,
        words=words,
        required=_distinct(_bare(one.text) for one in by_role["required"]),
        phrases=phrases,
        excluded=_distinct(_bare(one.text) for one in by_role["excluded"]),
        query_type="phrase" if phrases else query_type(text),
        groups=tuple(dict.fromkeys(groups)),
        expression_error=expression.error,
    )


def _scored(clause: Clause) -> Iterable[TextCondition]:
    """The words and phrases of a clause that raise the score of a passage."""
    return conditions.operands(clause.condition, wanted=True) if clause.role != "excluded" else ()


def query_type(text: str) -> QueryType:
    """Returns the shape of a query without phrases, the first that fits of technical, conceptual, entity and keyword.

    An identifier makes it technical. A question, or six words with a function word, is conceptual even if it
    contains a name; the caller sets the type to entity if that name is a known entity. Two capitalised words in a row,
    with or without a particle such as "of" between them, are an entity.
    """
    if identifiers(text):
        return "technical"
    words = _bare_words(text)
    if _is_sentence(text, words):
        return "conceptual"
    return "entity" if _has_name(words) else "keyword"


def identifiers(text: str) -> list[str]:
    """Returns the words of a query that are names of code, codes, versions, flags, paths or addresses.

    Plain numbers, such as years, are none.
    """
    return [word for word in _bare_words(text) if len(word) <= MAX_IDENTIFIER_LENGTH and _IDENTIFIER.fullmatch(word)]


def _bare_words(text: str) -> list[str]:
    return [bare for word in text.split() if (bare := _bare(word))]


def _has_incidental_quotes(outside: Sequence[str], phrases: Sequence[str], words: str) -> bool:
    """Returns whether a question mentions its phrases without requiring them."""
    inside = sum(len(phrase.split()) for phrase in phrases)
    return len(outside) > max(MAX_WORDS_OUTSIDE_QUOTES, inside) and _is_sentence(words, words.split())


def _tokens(query: str) -> list[_Token]:
    places = operators.places(query)
    found = []
    for match in _TOKEN.finditer(query):
        phrase, word = match["phrase"], match["word"]
        if word is None:
            kind: _Kind = "excluded_phrase" if match["sign"] == "-" else "phrase"
            found.append(_Token(kind if _CONTENT.search(phrase) else "word", phrase.strip()))
        elif match.start() in places:
            found.append(_Token("operator", word))
        elif _SIGNED.match(word):
            found.append(_Token("word" if word[0] == "+" else "excluded_word", word[1:], required=word[0] == "+"))
        else:
            found.append(_Token("word", word.strip(_OPENERS + _CLOSERS)))
    return [token for token in found if token.text]


def _resolved(tokens: Sequence[_Token]) -> list[_Token]:
    """Applies the operators to their neighbours; an operator without the neighbours it needs is a word."""
    result: list[_Token] = []
    requires = excludes = False
    for index, token in enumerate(tokens):
        following = next((later for later in tokens[index + 1 : index + 3] if later.text != "NOT"), None)
        if token.kind != "operator":
            if excludes:
                token = _negated(token)
            elif requires and not token.required:
                token = replace(token, required=True)
            result.append(token)
            requires = excludes = False
        elif following is None or following.kind == "operator" or (token.text != "NOT" and not result):
            result.append(_Token("word", token.text, is_idle=True))
        elif token.text == "NOT":
            excludes = True
        elif token.text == "AND":
            result[-1] = replace(result[-1], required=True)
            requires = True
    return result


def _negated(token: _Token) -> _Token:
    return replace(token, kind="excluded_phrase" if "phrase" in token.kind else "excluded_word", required=False)


def _bare(word: str) -> str:
    """Returns a word without the punctuation around it."""
    return word.strip(_EDGES) if not word.endswith("()") else word.lstrip(_EDGES)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if _CONTENT.search(value)))


def _is_sentence(text: str, words: Sequence[str]) -> bool:
    if operators.is_question(text, words):
        return True
    lowered = [word.lower() for word in words]
    return len(words) >= MIN_SENTENCE_WORDS and any(word in stop_words.SENTENCE_WORDS for word in lowered)


def _has_name(words: Sequence[str]) -> bool:
    """Returns whether a query that is not all capitals has two capitalised words in a row."""
    if all(word.isupper() for word in words):
        return False
    capitalised = 0
    for word in words:
        if word[0].isupper():
            capitalised += 1
            if capitalised == 2:
                return True
        elif word not in stop_words.QUERY_PARTICLES:
            capitalised = 0
    return False
