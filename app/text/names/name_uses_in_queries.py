"""Reads how a query uses a name: its case, its neighbours, and whether it is part of an identifier or an address.

Case is no evidence of a name if the query capitalises most of its other words, as titles and headlines do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.text.names import names
from app.text.names.names_in_queries import QueryWords
from app.text.words import characters, word_lists

NameForm = Literal["full", "word", "part", "role", "topic"]


NameCase = Literal["capital", "small", "unknown", "uniform"]


@dataclass(frozen=True, slots=True)
class NameUse:
    """How a query refers to an entity.

    `form` is a name of several words, of one word, a first or last name alone, a role, or the topic of its facts.
    `words` are the words of the query that refer to it. `case` says whether capitals mark them as a name or as ordinary
    words; `uniform` if most words are capitalised. `in_identifier`: they are part of a path, URL or identifier.
    `has_neighbour`: a capitalised word next to them belongs to another name. `is_address`: the query addresses the
    person or is signed by them. `is_place`: a person's name follows a preposition of place. `phrases` has the words
    with an ordinary word before or after them: they may be part of such a phrase.
    """

    form: NameForm
    words: tuple[str, ...] = ()
    case: NameCase = "unknown"
    in_identifier: bool = False
    has_neighbour: bool = False
    is_address: bool = False
    is_place: bool = False
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def is_incidental(self) -> bool:
        """Whether the query is certainly not about the name."""
        return self.in_identifier or self.has_neighbour or self.is_address


_GREETING = re.compile(
    r"\W*(?:(?:hi|hello|hey|hiya|dear|hallo|liebe[rs]?|bonjour|salut|ch[eè]re?|hola|estimad[oa]|ciao|ol[aá]|car[oa])"
    r"|good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|buenos d[ií]as|bom dia|buongiorno)"
    r"[\s,]+(?:(?:dr|mr|mrs|ms|prof)\.?\s+)?",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:\b(?:thanks|thank you|thx|cheers|regards|best|greetings|wishes|sincerely|yours|danke|dank|gru(?:ß|ss)"
    r"|gr(?:ü|ue)(?:ß|ss)en?|merci|cordialement|gracias|saludos|obrigad[oa]|grazie|saluti)\b[\s,.!–—-]*"
    r"|[?!.]\s*[–—-]*\s*)",
    re.IGNORECASE,
)
_PRONOUNS = frozenset("he she they his her their him them er sie ihr il elle ils elles lui leur".split())  # noqa: SIM905
_JOINS_BEFORE = re.compile(r"[_\\/=#$%~]$|[^\W_][.:@-]$")
_JOINS_AFTER = re.compile(r"[_\\/=(]|[.:@-][^\W_]")
_UNSPACED = re.compile(f"[{characters.UNSPACED}]")
MIN_STEM, MAX_ENDING = 3, 3
"""Least number of letters in a stem that differs from its word, and most letters in the ending of the word."""
MIN_WORDS_BESIDE_ADDRESS = 3
"""Least number of other words in a query that addresses or is signed by a person."""


class QueryText:
    """A query with its words. The words at the positions `taken` belong to known names.

    The words at the positions `parts` are first or last names of known persons. If such a word opens a sentence, its
    capital is the capital of a name.
    """

    def __init__(self, text: str, words: QueryWords, taken: Collection[int] = (), parts: Collection[int] = ()) -> None:
        self._text = text
        self._words = words
        self._offsets = names.word_offsets(text)
        self._taken = taken
        self._parts = parts

    def use(self, start: int, end: int, *, form: NameForm, kind: str) -> NameUse:
        """Returns how the query uses the words from `start` to `end` (exclusive), the name of an entity of this type.

        The type may stand next to the name: "Project Falcon".
        """
        type_words = (*names.words(kind), *names.words(f"{kind}s"))
        return NameUse(
            form,
            self._words.words[start:end],
            self._case(start, end),
            self._in_identifier(start, end),
            self._has_neighbour(start, end, type_words),
            self._is_address(start, end),
            kind == "person" and start > 0 and self._words.words[start - 1] in word_lists.PLACE_PREPOSITIONS,
            self._phrases(start, end, type_words),
        )

    def _phrases(self, start: int, end: int, type_words: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """Returns the name with the word before it and with the word after it, if these are ordinary words."""
        words = self._words
        found = []
        for place, first, last in ((start - 1, start - 1, end), (end, start, end + 1)):
            if not 0 <= place < len(words.words) or place in self._taken:
                continue
            is_capital = words.capital[place] and not words.opens[place]
            if not is_capital and words.words[place] not in type_words and self._is_distinctive(place):
                found.append(words.words[first:last])
        return tuple(found)

    def _is_distinctive(self, position: int) -> bool:
        return names.is_distinctive(self._words.words[position : position + 1])

    def _case(self, start: int, end: int) -> NameCase:
        words = self._words
        named = [i for i in range(start, end) if self._is_distinctive(i)]
        others = self._others(start, end)
        capitals = sum(words.capital[i] for i in others)
        if not named:
            return "unknown"
        if self._text.isupper() or (capitals > 1 and 2 * capitals >= len(others)):
            return "uniform"
        if any(words.small[i] for i in named):
            has_capitals = any(words.capital[i] and not words.opens[i] for i in range(len(words.words)))
            return "small" if has_capitals else "unknown"
        if len(named) == 1 and words.opens[named[0]] and len(words.words) > len(named):
            return "unknown"
        return "capital"

    def _others(self, start: int, end: int) -> list[int]:
        """Returns the positions of the distinctive words outside known names that do not open a sentence."""
        places = [i for i in range(len(self._words.words)) if not start <= i < end and i not in self._taken]
        return [i for i in places if not self._words.opens[i] and self._is_distinctive(i)]

    def _in_identifier(self, start: int, end: int) -> bool:
        first, last = self._offsets[start][0], self._offsets[end - 1][1]
        is_joined_before = first > 0 and _JOINS_BEFORE.search(self._text, 0, first) is not None
        return is_joined_before or _JOINS_AFTER.match(self._text, last) is not None

    def _has_neighbour(self, start: int, end: int, type_words: Collection[str]) -> bool:
        """Returns whether a capitalised name is next to a word of another name, after a space or hyphen.

        A name that opens the sentence counts as capitalised in a query that has lower-case words.
        """
        words, offsets = self._words, self._offsets
        is_capital_first = words.opens[start] and words.capital[start]
        opens_name = is_capital_first and any(words.small[i] for i in self._others(start, end))
        if not opens_name and self._case(start, end) != "capital":
            return False
        before = (start - 1, offsets[start - 1][1], offsets[start][0]) if start > 0 else None
        after = (end, offsets[end - 1][1], offsets[end][0]) if end < len(offsets) else None
        return any(
            self._is_other_name(i, type_words) and self._text[left:right].strip(" ") in ("", "-")
            for i, left, right in filter(None, (before, after))
        )

    def _is_other_name(self, position: int, type_words: Collection[str]) -> bool:
        words = self._words
        word = words.words[position]
        return (
            words.capital[position]
            and (not words.opens[position] or position in self._parts)
            and position not in self._taken
            and word not in type_words
            and word not in word_lists.FUNCTION_WORDS
            and word not in word_lists.CALENDAR_WORDS
        )

    def _is_address(self, start: int, end: int) -> bool:
        if len(self._words.words) - (end - start) < MIN_WORDS_BESIDE_ADDRESS:
            return False
        before, after = self._text[: self._offsets[start][0]], self._text[self._offsets[end - 1][1] :]
        if not any(map(str.isalnum, after)):
            closing = list(_CLOSING.finditer(before))
            return bool(closing) and closing[-1].end() == len(before)
        if _GREETING.fullmatch(before):
            return True
        following = self._words.words[end:]
        return not before.strip() and after[:1] == "," and "?" in after and not _PRONOUNS & set(following)


def best(uses: Sequence[NameUse]) -> NameUse:
    """Returns the occurrence that most likely refers to the entity."""
    return min(uses, key=lambda use: (use.is_incidental, use.is_place, use.case != "capital"))


def small_share(texts: Iterable[str], use: NameUse) -> float:
    """Returns the share of a name's occurrences in texts that start with a lower-case letter; 0 without any.

    If the query uses the name next to an ordinary word, only occurrences next to this word count, if there are any: a
    "multi-currency ledger" is not the team Ledger.
    """
    if not use.words:
        return 0.0
    read = list(texts)
    in_phrases = [initial for phrase in use.phrases for initial in _initials(read, use.words, phrase)]
    initials = in_phrases or _initials(read, use.words, use.words)
    return sum(map(str.islower, initials)) / len(initials) if initials else 0.0


def _initials(texts: Sequence[str], words: Sequence[str], phrase: Sequence[str]) -> list[str]:
    """Returns the first letter of a name at each place where texts contain it in this phrase."""
    others = len(phrase) - len(words)
    start = others if tuple(phrase[others:]) == tuple(words) else 0
    parts = list(map(re.escape, phrase))
    gap = r"\W+"
    name = f"(?P<name>{gap.join(map(re.escape, words))})"
    parts[start : start + len(words)] = [name]
    pattern = re.compile(rf"\b{gap.join(parts)}\b", re.IGNORECASE)
    return [match["name"][0] for text in texts for match in pattern.finditer(text)]


def is_lexeme_of(lexeme: str, word: str) -> bool:
    """Returns whether a lexeme may be the stem of a word: equal to it, or equal apart from their endings.

    In scripts without spaces a lexeme is a pair of characters of the word.
    """
    if _UNSPACED.match(lexeme):
        return "".join(names.words(lexeme)) in word
    is_beginning = word.startswith(lexeme) and len(lexeme) >= MIN_STEM and len(word) - len(lexeme) <= MAX_ENDING
    if lexeme == word or is_beginning:
        return True
    is_changed = len(lexeme) <= len(word) and lexeme.startswith(word[:-1])
    return len(lexeme) > MIN_STEM and (word.startswith(lexeme[:-1]) or is_changed)
