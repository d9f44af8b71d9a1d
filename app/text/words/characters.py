"""Defines the classes of visible, invisible and combining characters, and unifies characters that mean the same.

Each public constant is the inside of a regular expression's character class.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable

_SCRIPTS_WITH_MARKS = ((0x0300, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0xFB1F), (0xFE20, 0xFE30), (0x10000, 0x12000))


def _ranges(codes: Iterable[int]) -> str:
    """Returns the inside of a character class for ascending code points."""
    found = []
    for _, run in itertools.groupby(enumerate(codes), key=lambda pair: pair[1] - pair[0]):
        first, *rest = (code for _, code in run)
        found.append(f"\\U{first:08x}-\\U{(rest or [first])[-1]:08x}")
    return "".join(found)


def _marks(predicate: Callable[[str], bool]) -> list[int]:
    """Returns the code points of the scripts with combining marks, filtered by `predicate`."""
    codes = itertools.chain.from_iterable(itertools.starmap(range, _SCRIPTS_WITH_MARKS))
    return [code for code in codes if predicate(chr(code))]


UNSPACED = (
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
    r"\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
)
"""Scripts that are indexed as pairs of characters: Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer."""
FULL_STOPS = "。！？｡।॥۔؟"
"""Ends of sentences after which no space is needed: of Chinese, Japanese, languages of India, Urdu and Arabic."""
CONTROL = r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
SURROGATE = r"\ud800-\udfff"
# Soft hyphen, grapheme joiner, bidi controls, fillers, zero widths, BOM, noncharacters, tags, ideographic variants.
INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
# Kept if they change the rendering: in emoji sequences, Persian and Indic words.
JOINER = r"\u200c\u200d\ufe0f"
EMOJI = r"\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
JOINED_SCRIPTS = r"\u0620-\u06ff\u0900-\u0dff\u1780-\u17d3\u1000-\u109f"
BLANK = rf"\s{CONTROL}{SURROGATE}{INVISIBLE}{JOINER}\u2800\x85"
_MARKS = _marks(lambda character: unicodedata.category(character) in ("Mn", "Mc"))
MARK = _ranges(_MARKS)
_ACCENTS = re.compile(r"[\u0300-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ua66f-\ua69f\ufb1e\ufe20-\ufe2f]")
ACCENT = _ranges(code for code in _MARKS if _ACCENTS.match(chr(code)))
"""Marks without which words are compared: of Latin, Greek, Cyrillic, Hebrew and Arabic letters."""
SIGN = _ranges(code for code in _MARKS if not _ACCENTS.match(chr(code)))
"""Marks of other scripts, which are letters: vowels of Hindi and Thai, the voicing of Japanese syllables."""
LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h"}
"""Letters that many write in ASCII but that have no accent that Unicode separates."""
# Only these are reordered by normalisation, whose insertion sort is quadratic in a run of them.
REORDERED_MARK = _ranges(_marks(lambda character: unicodedata.combining(character) != 0))

_OTHER_DIGIT = re.compile("[^\\D0-9]")
# Arabic letters as keyboards of Persian and Urdu write them, the separators of Arabic numbers, and letters of Marathi
# and Tamil words with the dot below that is omitted elsewhere.
_SAME_LETTERS = str.maketrans(
    "\u06cc\u06a9\u06c1\u06c0\u06c2\u066b\u066c\u0929\u0931\u0934", "\u064a\u0643\u0647\u0647\u0647.,\u0928\u0930\u0933"
)
# What most texts omit: points of Hebrew, vowel marks and elongation of Arabic, dots below letters and joiners of Hindi.
_OMITTED = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0655\u0670\u06d6-\u06dc\u093c\u200d]+"
)
_VARIANT = re.compile("[\u0590-\u06ff\u0929\u0931\u0934\u093c\u200d]|[^\\D0-9]")


def unify(text: str) -> str:
    """Returns a text with ASCII digits and one spelling of letters that are written in several ways."""
    if not _VARIANT.search(text):
        return text
    text = _OMITTED.sub("", text).translate(_SAME_LETTERS)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
