"""Reads the query language: its tokens and its clauses.

    query   = { clause }                       clauses one after the other
    clause  = all { "OR" all }                 AND binds more tightly than OR
    all     = signed { "AND" signed }
    signed  = { "NOT" | "-" | "+" } operand    NOT and - exclude, two of them require; + requires
    operand = [field ":"] (word | word"*" | "phrase" | "(" query ")")

A clause of words, with or without OR between them, is optional: a hit may meet it. A clause of one operand with NOT or
- is excluded. Every other clause is required. The same is true in a group. A passage meets a group if it meets all of
the group's required clauses (or without any, one of its optional clauses) and none of its excluded clauses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from app.enums import ExpressionError
from app.text.queries.parsed_query import (
    OPERATORS,
    Combination,
    Condition,
    Field,
    Negation,
    TextCondition,
    combine,
    is_simple,
    map_operands,
    operands,
)
from app.text.words import word_lists

MAX_DEPTH = 4
"""Deepest nesting of groups."""
MAX_OPERANDS = 64
"""Most words, phrases and prefixes in conditions that are more than a word or phrase."""
EDGES = ".,;:!?…()[]{}'’‘" + '"“”„«»'
Kind = Literal["(", ")", "+", "-", "AND", "OR", "NOT", "field", "phrase", "word", "prefix", "mark"]
"""A mark is a word without letters and digits, such as "&". It means nothing to the grammar."""
Role = Literal["optional", "required", "excluded"]

_GROUP_ERRORS = frozenset({"unclosed_group", "unopened_group", "empty_group", "too_deep"})
_BINDING = frozenset({*OPERATORS, "+", "-", "field"})
_CONDITIONS = _BINDING | {"phrase", "prefix"}
"""Kinds of tokens that make a condition, or make a group of the text in parentheses."""
_QUOTES = '"“”„«»'
_OPERATOR = re.compile(r"(?<![^\s(])(?:AND|OR|NOT)(?=[\s)]|$)")
_PART = re.compile(r"[()]|\S[^\s()]*")
_FIELD = re.compile(rf"({'|'.join(get_args(Field))}):(?=\S)")
_ESCAPE = re.compile(r"\\([()\"*+:-]|(?:AND|OR|NOT)(?=[\s)]|$))")
_PHRASE = re.compile(r'["“”„«]([^"“”„«»]*)["“”»](?=[\s.,;:!?)]|$)')
_SIGN = re.compile(r"[+-](?=[\w(\"“„«\\])(?![\d.,]+(?:\s|$))(?!_)")
_PLAIN_WORD = re.compile(r"[^\s\\()*]+(?!\S)")
_BEFORE_HYPHEN = re.compile(r"(?:^|\s)(?:und|oder|sowie|och|eller|og|en|of)\s$", re.IGNORECASE)
"""What precedes the hyphen of a word whose first part was said before: "Kostenarten und -stellen"."""
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


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a query, and whether a hit may, must or must not meet it."""

    condition: Condition
    role: Role


@dataclass(frozen=True, slots=True)
class QueryReading:
    """The tokens of a query, its clauses in their order, and the places of the tokens that it excludes.

    A query of only words has no clauses. A query with an `error` has none either: it breaks the grammar.
    """

    tokens: Sequence[Token]
    clauses: Sequence[Clause] = ()
    excluded: frozenset[int] = frozenset()
    error: ExpressionError | None = None


def read(query: str, *, literal: Collection[str] = ()) -> QueryReading:
    """Reads a normalised query. `literal` are words whose minus sign belongs to them, such as "-rf".

    Parentheses that group nothing are characters of words. Unmatched parentheses are too, unless an operator belongs to
    them.
    """
    if "(" in query or ")" in query:
        tokens = list(_tokens(query, literal, groups=True))
        neighbours = list(_with_neighbours(tokens))
        # An operator, a sign or a field stands directly before or after a group, or inside one.
        has_operator = any(
            token.kind in _BINDING and (depth > 0 or before == ")" or after == "(")
            for token, depth, before, after in neighbours
        )
        if has_operator or any(depth > 0 and token.kind in _CONDITIONS for token, depth, _, _ in neighbours):
            reading = _read(tokens)
            if has_operator or reading.error not in _GROUP_ERRORS:
                return reading
    return _read(list(_tokens(query, literal, groups=False)))


def _read(tokens: Sequence[Token]) -> QueryReading:
    if all(token.kind in ("word", "mark") for token in tokens):
        return QueryReading(tokens)  # each word would be an optional clause
    parser = _Parser(tokens)
    try:
        clauses = [part for clause in parser.query() for part in _parts(clause)]
        if parser.kind is not None:
            raise _UnreadableError("unopened_group")
        conditions = [clause.condition for clause in clauses if clause.role != "optional"]
        if sum(len(list(operands(one))) for one in conditions if not is_simple(one)) > MAX_OPERANDS:
            raise _UnreadableError("too_many_operands")
    except _UnreadableError as error:
        return QueryReading(tokens, error=error.reason)
    return QueryReading(tokens, clauses, frozenset(parser.excluded))


def is_question(text: str, words: Sequence[str]) -> bool:
    """Whether a text of these words begins with a question word or has a question mark."""
    begins = len(words) > 1 and words[0].lower() in word_lists.QUESTION_WORDS
    return begins or text.rstrip().endswith(("?", "？")) or text.startswith("¿")


class _UnreadableError(Exception):
    """A query is not in the language."""

    def __init__(self, reason: ExpressionError) -> None:
        super().__init__(reason)
        self.reason: ExpressionError = reason


def _parts(clause: Clause) -> Iterator[Clause]:
    """Divides a clause so that as many parts as possible are a single word or phrase."""
    match clause.role, clause.condition:
        case ("required", Combination("and", parts)) | ("excluded" | "optional", Combination("or", parts)):
            for part in parts:
                yield from _parts(Clause(part, clause.role))
        case "required", Negation(condition):
            yield from _parts(Clause(condition, "excluded"))
        case _:
            yield clause


class _Parser:
    """Reads clauses from tokens, and notes the places of excluded tokens."""

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
        is_text = group is not None and all(one.role == "optional" and _is_plain(one.condition) for one in group)
        if group is not None and is_text and self.kind not in ("AND", "OR"):
            return group  # these are parentheses of a text
        parts = [self._all(None if group is None else _of_group(group))]
        while self._skip("OR"):
            parts.append(self._all(None))
        condition = combine("or", parts)
        if isinstance(condition, Negation):
            return [Clause(condition.condition, "excluded")]
        is_optional = is_operand and group is None and all(map(_is_plain, parts))
        return [Clause(condition, "optional" if is_optional else "required")]

    def _all(self, first: Condition | None) -> Condition:
        parts = [first or self._signed()]
        while self._skip("AND"):
            parts.append(self._signed())
        return combine("and", parts)

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
            return map_operands(group, lambda one: replace(one, field=one.field or field))
        if self.kind not in ("word", "phrase", "prefix"):
            raise _UnreadableError("missing_operand")
        place, token = self._tokens[self._at]
        self._at += 1
        if self._is_negated:
            self.excluded.add(place)
        return TextCondition(token.text, token.kind == "phrase", token.kind == "prefix", field)

    def _group(self) -> list[Clause]:
        """The clauses of a group. The next token is its parenthesis."""
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _UnreadableError("too_deep")
        clauses = self.query()
        if not self._skip(")"):
            raise _UnreadableError("unclosed_group")
        if not clauses:
            raise _UnreadableError("empty_group")
        self._depth -= 1
        return clauses

    def _skip(self, *kinds: Kind) -> Kind | None:
        """Reads the next token if it is of one of these kinds, and returns its kind."""
        found = self.kind if self.kind in kinds else None
        self._at += found is not None
        return found


def _of_group(clauses: Sequence[Clause]) -> Condition:
    """The condition of a group: all required clauses, or else one of its clauses, and no excluded clause."""
    required = [one.condition for one in clauses if one.role == "required"]
    optional = [one.condition for one in clauses if one.role == "optional"]
    excluded: list[Condition] = [Negation(one.condition) for one in clauses if one.role == "excluded"]
    wanted = required or ([combine("or", optional)] if optional else [])
    return combine("and", [*wanted, *excluded])


def _is_plain(condition: Condition) -> bool:
    return is_simple(condition) and not condition.is_phrase


def _with_neighbours(tokens: Sequence[Token]) -> Iterator[tuple[Token, int, Kind | None, Kind | None]]:
    """Each token with the number of open parentheses before it, and the kinds of its neighbours."""
    depth = 0
    kinds = [None, *(token.kind for token in tokens), None]
    for token, before, after in zip(tokens, kinds, kinds[2:], strict=False):
        yield token, depth, before, after
        depth += {"(": 1, ")": -1}.get(token.kind, 0)


def _tokens(query: str, literal: Collection[str], *, groups: bool) -> Iterator[Token]:
    """The tokens of a query. Without `groups`, parentheses are characters."""
    is_asked = is_question(query, query.split())
    places = _places(query, is_asked)
    at = depth = 0
    while at < len(query):
        character = query[at]
        if character.isspace():
            at += 1
        elif groups and character in "()":
            depth += 1 if character == "(" else -1
            yield Token(cast("Kind", character), "")
            at += 1
        elif character in "+-" and _is_operator_sign(query, at, literal, is_asked):
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


def _places(query: str, is_asked: bool) -> frozenset[int]:
    """The offsets of the words AND, OR and NOT that are operators.

    Operators are in capitals. A query that is all capitals has none. In a question AND, OR and NOT are words, unless a
    group needs them. Next to a function word they are words too ("what is NOT covered", "the limits OR the terms").
    """
    found = [match.start() for match in _OPERATOR.finditer(query)]
    if not found or re.sub(r"\b(?:AND|OR|NOT)\b", "", query).isupper():
        return frozenset()
    if is_asked and not _has_operator_at_group(query):
        return frozenset()
    return frozenset(place for place in found if not _is_in_sentence(query, place))


def _has_operator_at_group(query: str) -> bool:
    """Whether an operator or sign is next to a parenthesis, or an operator is between two words in parentheses."""
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


def _is_in_sentence(query: str, place: int) -> bool:
    before = query[max(0, place - 20) : place].rsplit(maxsplit=1)
    after = query[place : place + 24].split(maxsplit=2)[1:2]
    for word in (*before[-1:], *after):
        bare = word.strip(EDGES)
        is_quoted = word[0] in _QUOTES or word[-1] in _QUOTES
        if len(bare) > 1 and not is_quoted and bare not in OPERATORS and bare.lower() in word_lists.FUNCTION_WORDS:
            return True
    return False


def _is_operator_sign(query: str, at: int, literal: Collection[str], is_asked: bool) -> bool:
    """Whether a sign requires or excludes the next operand. In a question a minus excludes only a quoted phrase.

    The minus of a word belongs to it if the word is a single letter, has a digit or is literal: -f, -40°C, -Xmx4g.
    After a conjunction it is a hyphen.
    """
    if not _SIGN.match(query, at):
        return False
    if query[at] == "+" or query[at + 1] in _QUOTES:
        return True
    if is_asked or _BEFORE_HYPHEN.search(query, max(0, at - 8), at):
        return False
    if (word := _SIGNED_WORD.match(query, at)) is None:
        return True
    bare = word["word"].strip(EDGES)
    is_letter = len(bare) == 1 and bare.lower() != bare.upper()
    has_own_sign = is_letter or any(character.isdigit() for character in bare)
    return not has_own_sign and word[0].strip(EDGES) not in literal


def _word(query: str, at: int, *, is_operator: bool, closes: bool) -> tuple[Token, int]:
    """The word or operator that begins at an offset, and its end.

    With `closes`, it ends before a parenthesis that closes none in the word.
    """
    text: list[str] = []
    own, has_star = 0, False
    if plain := _PLAIN_WORD.match(query, at):
        text, at = [plain[0]], plain.end()
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
    """The part of a word before its final star; None if the word is not a prefix."""
    body, star, rest = word.partition("*")
    bare = body.lstrip(EDGES)
    if not star or rest.strip(EDGES) or not bare or not bare[-1].isalnum():
        return None
    is_enough = (len(bare) > 1 and _LETTER.search(bare)) or _ONE_IS_ENOUGH.match(bare)
    return bare if is_enough else None
