"""Finds identifiers, paths, addresses and tags in a text, and the words that are only pieces of such tokens."""

from __future__ import annotations

import functools
import re

from app.text.names import names
from app.text.queries import query_parsing
from app.text.words import characters, tsvector_text, word_lists

MIN_CHARACTERS = 4
"""Least number of letters and digits in an identifier. Shorter ones (`B2`, `Q3`, `MP3`) are not specific."""
MAX_LENGTH = 100

_JOINED = re.compile(r"_|[^\W_][./@\\:=][^\W_]|^[#@]\w|^[a-z]+[A-Z]")
"""A token of several words, such as `ERR_STREAM`, `app/main.py`, `#howto` and `getUserName`."""
_ALNUM = rf"[^\W_{characters.UNSPACED}]"
_TOKEN = re.compile(rf"{_ALNUM}+(?:[-_./:@\u2010\u2011\ufe63\uff0d]+{_ALNUM}+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_NOT_LETTERS_OR_DIGITS = re.compile(r"[\W_]+")
_MEASURE = r"\d[\d.,]*[^\W\d_]*"
_COMMON = re.compile(
    r"v?\d+(?:\.\d+)*(?:[-.]?(?:rc|alpha|beta|dev|post)\.?\d*)?"  # v2, 4.1.2, 1.0rc1
    rf"|{_MEASURE}(?:[-/:]+{_MEASURE})?"  # 12mm, 1990s, 30th, 9am-5pm, 200-300km
    rf"|{_MEASURE}(?:-[^\W\d_]+)+"  # 18-year-old, 12-volt, 19th-century
    r"|(?:mid|pre|post|early|late|circa)-\d.*"  # mid-1980s
    r"|(?:Q[1-4]|H[12]|FY|CY)[-/]?\d{2,4}|\d{4}[-/]?(?:Q[1-4]|H[12]|W\d\d)"  # Q3-2025, FY25, 2025-W13
    r"|\d{4}-\d\d-\d\dT.*",  # 2025-07-02T10:15Z
    re.IGNORECASE,
)
"""Versions, measures, ordinals and times: tokens of letters and digits that are not identifiers."""


def find_identifiers(text: str) -> list[str]:
    """Returns the identifiers in a text, each once, in order and as first written.

    Identifiers mix letters and digits, such as `FB-12`, `err_pwr_2207` and `0x80070057`, or have no digits and look
    like code, options, paths or addresses (`query_parsing.identifiers`). Versions, measures, dates and bare numbers
    are none.
    """
    found: dict[str, str] = {}
    for token in _TOKEN.findall(text):
        if not token.islower() or not token.isalpha():
            found.setdefault(token.casefold(), token)
    return [token for token in found.values() if len(token) <= MAX_LENGTH and _is_identifier(token)]


@functools.lru_cache(maxsize=10_000)
def _is_identifier(token: str) -> bool:
    letters = _LETTERS.findall(token)
    if not letters:
        return False
    if not any(map(str.isdigit, token)):
        return bool(query_parsing.identifiers(token))
    return (
        len(_NOT_LETTERS_OR_DIGITS.sub("", token)) >= MIN_CHARACTERS
        and not _COMMON.fullmatch(token)
        and not all(word.casefold() in word_lists.CALENDAR_WORDS for word in letters)
    )


def find_pieces(text: str) -> str:
    """Returns the words that the text contains only as pieces of identifiers, paths, addresses or tags, as indexed.

    The whole token is not a piece: `ERR_STREAM` is indexed as "errstream err stream".
    """
    tokens = text.split()
    joined = dict.fromkeys(token for token in tokens if _JOINED.search(token))
    if not joined:
        return ""
    alone = set(names.words(" ".join(token for token in tokens if token not in joined)))
    found: dict[str, None] = {}
    for token in joined:
        words = tsvector_text.index_text(token, "simple").split()
        found |= dict.fromkeys(words if token.startswith(("#", "@")) else words[1:])
    return " ".join(word for word in found if word not in alone)
