"""Decides whether a hyphen at the end of a line divides a word, joins two, or stands for a part that is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

LONGEST = 100
"""Code points before and after the end of a line in which its word is searched."""
_END = re.compile(r"(?:[^\W\d_]+[-\u2010])*([^\W\d_]+)[-\u2010]$")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_CONJUNCTIONS = re.compile("und|oder|bzw|sowie|beziehungsweise|bis|and|or|nor|plus")
"""Words before which a hyphen stands for the end of the word after them: Vor- und Nachteile."""
_SHORT_CONJUNCTIONS = re.compile("to|et|ou|y|e|o|en|of|og|och|i|ja|a")
"""Such words that are syllables as well, before which only a prefix ends with such a hyphen: pre- et post-."""
_PREFIXES = re.compile(
    "pre|post|pré|pro|anti|sub|inter|intra|micro|macro|mikro|makro|hypo|hyper|under|over|upper|lower|vor|"
    "nach|ein|aus|auf|ab|an|mono|poly|multi|short|long|low|high|left|right|in|out|up|down|top|bottom|one|"
    "two|three|on|off"
)
_FUNCTION_WORDS = re.compile("of|the|to|in|and|by|on|up|at|for|with|as|or|de|la|le|du|der|die|das|und")
"""Parts of compounds such as state-of-the-art, of which a line ends before or after one."""
_SECOND_PARTS = re.compile("known|based|called|oriented|specific|term|level|driven|free|like|sized|aware")
_FIRST_PARTS = ("well", "self")
_NOT_SECOND_PARTS = ("ness", "ish", "less", "hood", "ing", "fare", "be")
_BOUND = re.compile("un|in|re|de|non|co|mis|pre|be|dis|over|under")
"""Prefixes that are written without a hyphen."""


@dataclass(frozen=True)
class Words:
    """The words of a text, by which a word is known that is divided at the end of a line."""

    text: str

    @cached_property
    def known(self) -> frozenset[str]:
        """The words in lower case, compounds with their hyphens."""
        return frozenset(found[0].casefold().replace("\u2010", "-") for found in _WORD.finditer(self.text))


def join(above: str, below: str, words: Words) -> str | None:
    """The line `above` as it continues with `below`: without its hyphen or with it; None if the two stay apart.

    They stay apart if the second part is a word of its own, and the first one stands for a longer word.
    """
    end, begin = _END.search(above[-LONGEST:]), _WORD.match(below[:LONGEST])
    if end is None or begin is None:
        return None
    chain, left, right = end[0][:-1].casefold(), end[1].casefold(), begin[0].casefold()
    if left + right in words.known:
        return above[:-1]
    if _CONJUNCTIONS.fullmatch(right) or (_PREFIXES.fullmatch(left) and _SHORT_CONJUNCTIONS.fullmatch(right)):
        return None
    is_known = f"{chain}-{right}" in words.known
    return above if is_known or _is_compound(chain, left, right) else above[:-1]


def _is_compound(chain: str, left: str, right: str) -> bool:
    """Whether a word has a hyphen at the end of the line anyway, as far as its parts show that.

    `chain` is what is before it with all hyphens, `left` the last part of that, and `right` the rest.
    """
    first = right.partition("-")[0]
    if len(left) == 1 or (chain != left and _FUNCTION_WORDS.fullmatch(left)):
        return True
    if right != first and _FUNCTION_WORDS.fullmatch(first):
        return True
    if left in _FIRST_PARTS:
        return not right.startswith(_NOT_SECOND_PARTS)
    return bool(_SECOND_PARTS.fullmatch(right) and not _BOUND.fullmatch(left))
