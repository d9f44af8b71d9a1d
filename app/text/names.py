"""Finds names in a text, and computes the keys by which names are compared.

A name is a capitalised phrase, or a title in any spelling of case. Two are the same where their words are, without
case, accents and punctuation: those words are a name's key, so that a text's word sequences can be looked up at once.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.text import characters, cleaning

VERSION = 3
"""Counts up whenever these rules, or those for headings, find other names, so that stored documents are read again."""
MAX_WORDS = 8
"""Words of the longest sequence that is looked up, and of the longest name."""
MAX_CHARACTERS = 120
MAX_WORD_LENGTH = 40

_WORD = re.compile(r"[^\W_]+")
_MARK = re.compile(f"[{characters.MARK}]")
_CLOSING = re.compile(r"\s*\([^()]*\)\s*$")
_TOKEN = re.compile(r"[^\W_](?:\.[^\W_])+\.?|[^\W_]+(?:['’.-][^\W_]+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_JOINT = re.compile(r"[ \t]+|\n(?=[^\n#*+-])|[ \t]*[–—-][ \t]*")
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*\s+[\"'“‘«(\[]*$|^\s*[\"'“‘«(\[#>*+-]*\s*$|\n[\s\"'“‘«(\[#>*+-]*$")
_NUMERAL = re.compile(r"[IVXLC]{1,6}|\d{1,4}")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PARTICLES = _set("of de da do del della des der den di du la le las los van von zu al el bin ibn y e et und for the")
_FUNCTION = _set(
    "a an the this that these those it its he she they we you i his her their our my your him them us me who whom "
    "whose what when where why which how and or but nor so yet if as at by for from in into of off on onto out "
    "over to up with without after before during until since while because although though however therefore thus "
    "then than there here is are was were be been being am do does did done has have had can could will would "
    "shall should may might must not no yes all any some many much more most other another each every both few "
    "several such only own same too very also just about above again against between through under below near der "
    "die das den dem des ein eine einer eines und oder aber ist sind war im zu mit auf für von bei nach le la les "
    "l d du un une et ou est sont dans pour avec sur au aux ce cette il elle ils elles nous vous el los las una "
    "unos y o es son en con por para su sus lo al del se os um uma e em na com gli di che nel della "
)
_CALENDAR = _set(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun"
)


_SHORT_FORMS = _set("Dr. Mr. Mrs. Ms. St. Ste. Jr. Sr. Prof. Mt. Ft. Gen. Lt. Col. Capt. Sgt. Rev. Hon. Gov. Sen. No.")


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is first written, its key, and how often it stands there."""

    key: str
    text: str
    count: int = 1

    @property
    def entity_id(self) -> UUID:
        """The id of the entity that this name alone makes: the same for every document and in every process."""
        return UUID(bytes=hashlib.sha256(self.key.encode("utf-8", "surrogatepass")).digest()[:16])


@dataclass(frozen=True, slots=True)
class _Word:
    """A word with where it stands and whether a sentence begins with it."""

    text: str
    start: int
    end: int
    opens: bool
    capital: bool


def words(text: str) -> list[str]:
    """The words by which names are compared: case folded, accents and punctuation gone."""
    folded = text.casefold()
    if not folded.isascii():
        folded = _MARK.sub("", unicodedata.normalize("NFKD", folded))
    return [word[:MAX_WORD_LENGTH] for word in _WORD.findall(folded)]


def tidy(text: str) -> str:
    """A name as it is kept: cleaned, on one line, with single spaces."""
    return " ".join(cleaning.clean(text).text.split())


def word_offsets(text: str) -> list[tuple[int, int]]:
    """Where each of a text's words stands in it, as (start, end) in code points."""
    if text.isascii():
        return [match.span() for match in _WORD.finditer(text)]
    folded, origins = [], []
    for place, character in enumerate(text):
        shown = _MARK.sub("", unicodedata.normalize("NFKD", character.casefold()))
        folded.append(shown)
        origins += [place] * len(shown)
    found = (match.span() for match in _WORD.finditer("".join(folded)))
    return [(origins[start], origins[end - 1] + 1) for start, end in found]


def key(text: str) -> str | None:
    """The key of a name; None where it has no words, only function words, or too many."""
    found = words(text)
    return " ".join(found) if is_distinctive(found) and len(found) <= MAX_WORDS else None


def is_distinctive(found: Sequence[str]) -> bool:
    """Whether the words can name something: one of them is longer than a letter and no function word."""
    return any(len(word) > 1 and word not in _FUNCTION for word in found)


def is_not_a_date(found: Sequence[str]) -> bool:
    """Whether one of the words is more than a letter and neither a number, nor of the calendar, nor a function word."""
    return any(
        len(word) > 1 and not word.isdigit() and word not in _CALENDAR and word not in _FUNCTION for word in found
    )


def title_name(text: str) -> Name | None:
    """A title as texts mention it, without a closing "(…)"; None where it names nothing."""
    bare = _CLOSING.sub("", text[:500]).strip() or text
    named = key(bare)
    return Name(named, bare[:MAX_CHARACTERS]) if named else None


def sequences(text: str) -> Counter[str]:
    """The key of every word sequence that could be a name, with how often it stands in the text."""
    found = words(text)
    counted = Counter(
        " ".join(found[start:end])
        for start in range(len(found))
        for end in range(start + 1, min(start + MAX_WORDS, len(found)) + 1)
    )
    for word in _FUNCTION & counted.keys():
        del counted[word]
    return counted


def find(text: str) -> list[Name]:
    """The names in a text in the order of their first appearance: capitalised phrases and, of phrases with a particle
    inside ("Institute of Physics"), their parts as well.

    A lone word that begins a sentence counts only where the text writes it large elsewhere too.
    """
    tokens = list(_tokens(text))
    large_inside = {token.text for token in tokens if token.capital and not token.opens}
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for run in _runs(tokens, text):
        for part in _parts(_trimmed(run)):
            if not _is_name(part, large_inside):
                continue
            name = _written(part, text)
            named = key(name)
            if named is not None and len(name) <= MAX_CHARACTERS:
                found.setdefault(named, name)
                counts[named] += 1
    return [Name(named, name, counts[named]) for named, name in found.items()]


def _tokens(text: str) -> Iterator[_Word]:
    shortened = False
    for match in _TOKEN.finditer(text):
        word = match[0]
        if word[-1] == "." and not _is_short_form(word):
            word = word[:-1]
        start = match.start()
        opens = start == 0 or (not shortened and bool(_SENTENCE_END.search(text, max(0, start - 12), start)))
        shortened = word[-1] == "."
        yield _Word(word, start, start + len(word), opens, word[0].isupper())


def _is_short_form(word: str) -> bool:
    """Initials and what stands before a name: "J.", "U.S.", "Dr."."""
    return word[0].isupper() and (len(word) == 2 or word.count(".") > 1 or word in _SHORT_FORMS)


def _runs(tokens: Sequence[_Word], text: str) -> Iterator[list[_Word]]:
    """Neighbouring tokens that could be one name: large ones, numerals behind them, particles between them."""
    run: list[_Word] = []
    for token in tokens:
        joined = bool(run) and bool(_JOINT.fullmatch(text, run[-1].end, token.start))
        if run and not (joined and not (token.opens and token.capital)):
            yield run
            run = []
        if token.capital or (run and (token.text in _PARTICLES or _NUMERAL.fullmatch(token.text))):
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _trimmed(run: list[_Word]) -> list[_Word]:
    """A run without particles at its end and function words at its start."""
    start, end = 0, len(run)
    while end > start and run[end - 1].text in _PARTICLES:
        end -= 1
    while start < end and (run[start].text.casefold() in _FUNCTION or not run[start].capital):
        start += 1
    return run[start:end]


def _parts(run: list[_Word]) -> Iterator[list[_Word]]:
    """The run and, where particles divide it, what lies between them."""
    if run:
        yield run
    pieces: list[list[_Word]] = [[]]
    for token in run:
        if token.text in _PARTICLES:
            pieces.append([])
        else:
            pieces[-1].append(token)
    if len(pieces) > 1:
        yield from (trimmed for piece in pieces if (trimmed := _trimmed(piece)))


def _is_name(run: Sequence[_Word], large_inside: set[str]) -> bool:
    if not run or len(run) > MAX_WORDS:
        return False
    if not is_not_a_date([token.text.casefold().rstrip(".") for token in run]):
        return False
    lone = run[0]
    return len(run) > 1 or not lone.opens or lone.text in large_inside or lone.text[1:] != lone.text[1:].lower()


def _written(run: Sequence[_Word], text: str) -> str:
    return _POSSESSIVE.sub("", " ".join(text[run[0].start : run[-1].end].split())).rstrip(".")
