"""Finds the words of a query in which a typing error may be, and the words that it may have changed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.text.queries import analysis, syntax

SHORTEST, LONGEST = 5, 24
"""Least and most letters of a word in which typing errors are corrected. Shorter words have too many neighbours."""
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (
    f"{_LATIN}äöüßàâçèéêëîïôùûñáíóúãõåøæ",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ",
)
_WORD = re.compile(r"[^\W\d_]+")


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
        bare = word.strip(syntax.EDGES)
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
