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
    """The line `above` as it continues with `below`: without its hyphen or with it; None if the two stay apart."""
    end, begin = _END.search(above[-LONGEST:]), _WORD.match(below[:LONGEST])
    if end is None or begin is None:
        return None
    divided = _Divided(end[0][:-1].casefold(), end[1].casefold(), begin[0].casefold())
    if divided.left + divided.right in words.known:
        return above[:-1]
    if divided.is_suspended:
        return None
    is_known = f"{divided.chain}-{divided.right}" in words.known
    return above if is_known or divided.is_compound else above[:-1]


@dataclass(frozen=True, slots=True)
class _Divided:
    """A word around the end of a line: what is before it with all hyphens, the last part of that, and the rest."""

    chain: str
    left: str
    right: str

    @property
    def is_suspended(self) -> bool:
        """Whether the second part is a word of its own, and the first one stands for a longer word."""
        if _CONJUNCTIONS.fullmatch(self.right):
            return True
        return bool(_PREFIXES.fullmatch(self.left) and _SHORT_CONJUNCTIONS.fullmatch(self.right))

    @property
    def is_compound(self) -> bool:
        """Whether the word has a hyphen there anyway, as far as its parts show that."""
        first = self.right.partition("-")[0]
        if len(self.left) == 1 or (self.chain != self.left and _FUNCTION_WORDS.fullmatch(self.left)):
            return True
        if self.right != first and _FUNCTION_WORDS.fullmatch(first):
            return True
        if self.left in _FIRST_PARTS:
            return not self.right.startswith(_NOT_SECOND_PARTS)
        return bool(_SECOND_PARTS.fullmatch(self.right) and not _BOUND.fullmatch(self.left))
