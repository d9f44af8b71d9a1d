"""Finds names in texts, titles and headings, and computes the keys by which names are compared.

A name is a capitalised phrase, or a title or heading that a text writes like a name. The key of a name is its words
without case, accents and punctuation. Names with equal keys are the same, so the word sequences of a text can be looked
up as keys.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from app.text.structure import structure
from app.text.words import characters, cleaning, word_lists

VERSION = 10
"""Version of the rules for names and headings. Increase it when they find other names: stored documents are then
processed again."""
MAX_WORDS = 8
"""Largest number of words in a name and in a sequence that is looked up."""
MAX_CHARACTERS = 120
MAX_WORD_LENGTH = 40

_ASCII_WORD = re.compile(r"[^\W_]+")
_UNSPACED = f"{characters.UNSPACED}\u1100-\u11ff"  # folded Korean syllables are letters
_SPACED = rf"[^\W_{_UNSPACED}]"
_WORD = re.compile(rf"{_SPACED}(?:{_SPACED}|[{characters.SIGN}])*+|(?:[{_UNSPACED}](?<=[^\W_]|[{characters.SIGN}]))++")
_MARK = re.compile(f"[{characters.MARK}]")
_ACCENT = re.compile(f"[{characters.ACCENT}]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_CLOSING = re.compile(r"\s*\([^()]*\)\s*$")
_LETTER = rf"[^\W_{characters.UNSPACED}]"
_TOKEN = re.compile(rf"{_LETTER}(?:\.{_LETTER})++\.?+(?!{_LETTER})|{_LETTER}+(?:['’.-]{_LETTER}+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_JOINT = re.compile(r"[ \t]+|\n(?=[^\n#*+-])|[ \t]*[–—-][ \t]*")
_OPENING = r"\"'“‘„‚«‹(\["
_SENTENCE_END = re.compile(
    rf"[.!?:;…][\"'”’»)\]]*\s+[{_OPENING}]*$|^\s*[{_OPENING}#>*+-]*\s*$|\n[\s{_OPENING}#>*+-]*$|[¿¡]$"
)
_NUMERAL = re.compile(r"[IVXLC]{1,6}|\d{1,4}")
_FILE_NAME = re.compile(
    r"\S*\.(?:txt|md|markdown|rst|adoc|html?|pdf|docx?|odt|rtf|tex|csv|tsv|xlsx?|pptx?|json|ya?ml|xml|log|eml)"
)
_NUMBERING = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})+[.)]?|\d{1,3}[.)])\s+")

_SHORT_FORMS = frozenset(
    "Dr. Mr. Mrs. Ms. St. Ste. Jr. Sr. Prof. Mt. Ft. Gen. Lt. Col. Capt. Sgt. Rev. Hon. Gov. Sen. No.".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as first written, its key, and its number of occurrences."""

    key: str
    text: str
    count: int = 1

    @property
    def entity_id(self) -> UUID:
        """The id of the entity. It depends only on the key, so it is equal in all documents and processes."""
        return _entity_id(self.key)


@functools.lru_cache(maxsize=4_096)
def _entity_id(key: str) -> UUID:
    return UUID(bytes=hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:16])


class _Word(NamedTuple):
    """A word with its offsets; `capital` if it starts with a capital, `opens` if it also starts a sentence."""

    text: str
    start: int
    end: int
    opens: bool
    capital: bool


def words(text: str) -> list[str]:
    """Returns the words by which names are compared: case-folded, without accents or punctuation, cut to 40 characters.

    A run of characters of a script without spaces is a word of its own, also beside other letters and digits.
    """
    folded = text.casefold()
    if folded.isascii():
        return [word[:MAX_WORD_LENGTH] for word in _ASCII_WORD.findall(folded)]
    folded = _NOT_ASCII.sub(lambda run: "".join(map(_fold, run[0])), folded)
    return [word[:MAX_WORD_LENGTH] for word in _WORD.findall(folded)]


@functools.lru_cache(maxsize=16_384)
def _fold(character: str) -> str:
    """Returns a character in the form of `words`."""
    folded = characters.unify(unicodedata.normalize("NFKC", character).casefold())
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", folded))
    return characters.LETTERS.get(bare, bare)


@functools.lru_cache(maxsize=1_024)
def tidy(text: str) -> str:
    """Converts a name to its stored form: cleaned, on one line, with single spaces."""
    return " ".join(cleaning.clean(text).text.split())


def word_offsets(text: str) -> list[tuple[int, int]]:
    """Returns the (start, end) offsets of the words of a text, in code points, parallel to `words`."""
    if text.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(text)]
    folded, origins = [], []
    for index, character in enumerate(text):
        shown = _fold(character)
        folded.append(shown)
        origins += [index] * len(shown)
    found = (match.span() for match in _WORD.finditer("".join(folded)))
    return [(origins[start], origins[end - 1] + 1) for start, end in found]


def key(text: str) -> str | None:
    """Returns the key of a name; None if it has only function words and single characters, or more than MAX_WORDS."""
    found = words(text)
    return " ".join(found) if is_distinctive(found) and len(found) <= MAX_WORDS else None


def is_distinctive(found: Sequence[str]) -> bool:
    """Returns whether one of the words is longer than a letter and not a function word."""
    return any(len(word) > 1 and word not in word_lists.FUNCTION_WORDS for word in found)


def has_proper_word(found: Sequence[str]) -> bool:
    """Returns whether a word is longer than a letter and not a number, calendar word or function word."""
    return any(
        len(word) > 1
        and not word.isdigit()
        and word not in word_lists.CALENDAR_WORDS
        and word not in word_lists.FUNCTION_WORDS
        for word in found
    )


def title_name(text: str) -> Name | None:
    """Returns the name in a title, without a closing "(…)", or None if it has no key."""
    bare = _CLOSING.sub("", text[:500]).strip() or text
    named = key(bare)
    return Name(named, bare[:MAX_CHARACTERS]) if named else None


def space(words: Iterable[str]) -> str:
    """Returns words with a space around each. A key occurs in a text if it occurs in this form of the text's words."""
    return f" {' '.join(words)} "


def sequences(text: str) -> Counter[str]:
    """Returns the key of every word sequence that could be a name, with its number of occurrences in the text."""
    found = words(text)
    counted = Counter(
        " ".join(found[start:end])
        for start in range(len(found))
        for end in range(start + 1, min(start + MAX_WORDS, len(found)) + 1)
    )
    for word in word_lists.FUNCTION_WORDS & counted.keys():
        del counted[word]
    return counted


class WrittenWords:
    """The words of a text. Some are written like names: with a capital, or in a script without case."""

    def __init__(self, text: str) -> None:
        self.words = words(text)
        self._text = text
        self._starts = [start for start, _end in word_offsets(text)]
        self._as_name = [text[start].isalpha() and not text[start].islower() for start in self._starts]

    def openings(self) -> tuple[set[str], set[str]]:
        """Returns the words that alone may be a title, and the pairs that may begin a longer name."""
        single = {word for word, as_name in zip(self.words, self._as_name, strict=True) if as_name}
        pairs = set(map(" ".join, itertools.pairwise(self.words)))
        return single - word_lists.FUNCTION_WORDS - word_lists.HEADING_WORDS, pairs

    def sequences_after(self, known: Collection[str]) -> Counter[str]:
        """Counts the word sequences that are written like names and begin with one of the known openings.

        A sequence of several words must have a capital that does not begin a sentence.
        """
        counted: Counter[str] = Counter()
        for start, word in enumerate(self.words):
            as_name = self._as_name[start : start + MAX_WORDS]
            if word in known and as_name[0]:
                counted[word] += 1
            found = self.words[start : start + MAX_WORDS]
            if len(found) < 2 or f"{word} {found[1]}" not in known:
                continue
            is_inside = as_name[0] and not _opens_sentence(self._text, self._starts[start], after_short_form=False)
            ends = range(2, len(found) + 1)
            counted.update(" ".join(found[:end]) for end in ends if is_inside or any(as_name[1:end]))
        return counted


def find(text: str) -> list[Name]:
    """Returns the names in a text in the order of their first occurrence.

    Names are capitalised phrases and the parts of phrases with a particle ("Institute of Physics"). A single word that
    starts a sentence counts only if the text also capitalises it elsewhere.
    """
    tokens = list(_tokens(text))
    capitalised_inside = {token.text for token in tokens if token.capital and not token.opens}
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for part in itertools.chain.from_iterable(map(_parts, _runs(tokens, text))):
        if not _is_name(part, capitalised_inside) or _is_joined(part, text):
            continue
        name = _POSSESSIVE.sub("", " ".join(text[part[0].start : part[-1].end].split())).rstrip(".")
        named = key(name)
        if named is not None and len(name) <= MAX_CHARACTERS:
            found.setdefault(named, name)
            counts[named] += 1
    return [Name(named, name, counts[named]) for named, name in found.items()]


def _is_joined(part: Sequence[_Word], text: str) -> bool:
    """Returns whether a symbol or mark beside a name, such as a circled letter, is part of its word in `words`."""
    around = text[max(0, part[0].start - 1) : part[0].start] + text[part[-1].end : part[-1].end + 1]
    return any(_MARK.match(symbol) or (not symbol.isalnum() and words(symbol)) for symbol in around)


def _tokens(text: str) -> Iterator[_Word]:
    """Yields the words that may be part of a name: capitalised words, particles, words that begin with a digit."""
    shortened = False
    for match in _TOKEN.finditer(text):
        word = match[0]
        capital = word[0].isupper()
        if word[-1] == "." and not (capital and (len(word) == 2 or word.count(".") > 1 or word in _SHORT_FORMS)):
            word = word[:-1]
        if capital or word in word_lists.NAME_PARTICLES or word[0].isdecimal():
            start = match.start()
            opens = capital and _opens_sentence(text, start, after_short_form=shortened)
            yield _Word(word, start, start + len(word), opens, capital)
        shortened = word[-1] == "."


def _opens_sentence(text: str, start: int, *, after_short_form: bool) -> bool:
    if start == 0 or after_short_form:
        return start == 0
    if start > 1 and text[start - 1] == " " and (text[start - 2] == "," or text[start - 2].isalnum()):
        return False  # the expression would find the same in ten times the time
    return _SENTENCE_END.search(text, max(0, start - 12), start) is not None


def _runs(tokens: Sequence[_Word], text: str) -> Iterator[list[_Word]]:
    """Yields runs of tokens that could be one name: capitalised words, numerals after and particles between them."""
    run: list[_Word] = []
    for token in tokens:
        joined = bool(run) and bool(_JOINT.fullmatch(text, run[-1].end, token.start))
        if run and not (joined and not token.opens):
            yield run
            run = []
        if token.capital or (run and (token.text in word_lists.NAME_PARTICLES or _NUMERAL.fullmatch(token.text))):
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _trim(run: Sequence[_Word]) -> Sequence[_Word]:
    """Returns a run without particles at its end and function words at its start."""
    start, end = 0, len(run)
    while end > start and run[end - 1].text in word_lists.NAME_PARTICLES:
        end -= 1
    while start < end and (run[start].text.casefold() in word_lists.FUNCTION_WORDS or not run[start].capital):
        start += 1
    return run[start:end]


def _parts(run: Sequence[_Word]) -> Iterator[Sequence[_Word]]:
    """Yields a trimmed run and, if particles divide it, the trimmed parts between them."""
    whole = _trim(run)
    pieces: list[list[_Word]] = [[]]
    for token in whole:
        if token.text in word_lists.NAME_PARTICLES:
            pieces.append([])
        else:
            pieces[-1].append(token)
    yield from filter(None, (whole, *map(_trim, pieces if len(pieces) > 1 else ())))


def _is_name(run: Sequence[_Word], capitalised_inside: set[str]) -> bool:
    if not run or len(run) > MAX_WORDS:
        return False
    if not has_proper_word([token.text.casefold().rstrip(".") for token in run]):
        return False
    first = run[0]
    return (
        len(run) > 1 or not first.opens or first.text in capitalised_inside or first.text[1:] != first.text[1:].lower()
    )


def section_name(heading: str) -> Name | None:
    """Returns the name of a section without its number ("3.2 "), or None for function words or a date."""
    found = title_name(_NUMBERING.sub("", heading[: structure.MAX_HEADING], count=1))
    return found if found is not None and has_proper_word(found.key.split(" ")) else None


def is_searched_heading(key: str) -> bool:
    """Returns whether texts are searched for a heading with this key: only if it has several words."""
    return " " in key


def is_general(title: str) -> bool:
    """Returns whether a title is a file name, or has only words of common headings ("Appendix B")."""
    own = set(words(title)) - word_lists.FUNCTION_WORDS - word_lists.HEADING_WORDS
    return all(len(word) == 1 or word.isdigit() for word in own) or _FILE_NAME.fullmatch(title) is not None
