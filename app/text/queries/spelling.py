"""Finds stored words that resemble a misspelled or shortened word, and the words that a typing error may have changed.

The stored words are stems: "timetable" is stored as "timet". Therefore the whole word is compared, and its prefixes are
compared with shorter stems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rapidfuzz import fuzz, process

from app.text.queries import analysis, language

MAX_RESULTS = 5
MIN_RATIO = 75
MAX_WORD_LENGTH = 64
MIN_STEM_LENGTH = 4
MIN_STEM_RATIO = 80
SHORTEST, LONGEST = 5, 24
"""Least and most letters of a word in which typing errors are corrected. Shorter words have too many neighbours."""
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (
    f"{_LATIN}äöüßàâçèéêëîïôùûñáíóúãõåøæ",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ",
)
_WORD = re.compile(r"[^\W\d_]+")


def nearest(word: str, stored: Sequence[str]) -> list[str]:
    """Returns up to five stored words: completions of `word`, similar words, then stems similar to a prefix of it.

    Similar words have a ratio (rapidfuzz, 0 to 100) of at least 75, stems of at least 80; the most similar come first.
    A stem has at least four letters and half the length of the word. Of equally similar stems the longest is first.
    """
    if len(word) > MAX_WORD_LENGTH:
        return []
    completions = sorted((candidate for candidate in stored if candidate.startswith(word)), key=len)[:MAX_RESULTS]
    similar = process.extract(word, stored, scorer=fuzz.ratio, score_cutoff=MIN_RATIO, limit=MAX_RESULTS)
    shorter = [candidate for candidate in stored if max(MIN_STEM_LENGTH, len(word) / 2) <= len(candidate) < len(word)]
    scores = {candidate: fuzz.ratio(word[: len(candidate)], candidate) for candidate in shorter}
    stems = [candidate for candidate in shorter if scores[candidate] >= MIN_STEM_RATIO]
    stems.sort(key=lambda candidate: (-scores[candidate], -len(candidate), candidate))
    found = [*completions, *(candidate for candidate, _score, _index in similar), *stems]
    return list(dict.fromkeys(found))[:MAX_RESULTS]


def may_be_misspelt(query: str, literal: Iterable[str] = ()) -> list[str]:
    """Returns the words of a query in which a typing error may be, each once, the longest first.

    Omits words in `literal`, identifiers, file names, numbers and acronyms, because they are meant as written, and
    words of other scripts than Latin, Cyrillic and Greek.
    """
    kept = {word.casefold() for text in literal for word in _WORD.findall(text)}
    kept |= {word.casefold() for word in analysis.identifiers(query)}
    all_capitals = query.isupper()
    found: dict[str, None] = {}
    for word in query.split():
        bare = word.strip(language.EDGES)
        is_usual = all_capitals or bare[1:].islower()
        if is_usual and SHORTEST <= len(bare) <= LONGEST and _WORD.fullmatch(bare) and _alphabet(bare):
            found[bare.casefold()] = None
    return sorted((word for word in found if word not in kept), key=len, reverse=True)


def edits(word: str) -> list[str]:
    """Returns the words that one typing error turns into `word`: a letter is missing, added or wrong, or two swapped.

    These are the words at a distance of 1 (optimal string alignment), in the letters of its alphabet. The first letter
    is the same: it is wrong in only 1.4 % of errors (Yannakoudakis and Fawthrop 1983).
    """
    letters = _alphabet(word) or ""
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    found = [before + after[1:] for before, after in splits if after]
    found += [before + after[1] + after[0] + after[2:] for before, after in splits if len(after) > 1]
    found += [before + letter + after[1:] for before, after in splits[1:] if after for letter in letters]
    found += [before + letter + after for before, after in splits for letter in letters]
    return [one for one in dict.fromkeys(found) if one != word]


def _alphabet(word: str) -> str | None:
    """Returns the letters of a word's alphabet; None if the word has others. Without accents, the English letters."""
    if word.isascii():
        return _LATIN
    return next((letters for letters in _ALPHABETS if set(word.casefold()) <= set(letters)), None)
