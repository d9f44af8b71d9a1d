"""Lists the signals of a multi-hop search: their weights, how links raise them, and their labels for people.

Everything else reads this table: the sum of signals, the statements that follow links, the API's kinds of links, the
tools, the command line and the playground. A new signal needs a row here and a statement that finds its links.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from typing_extensions import TypeAliasType

from app.enums import Meaning

FIRST_STEP = 2.0
"""Factor of a link through a title or heading. The link's strength is 2 w / (1 + ln(1 + n)): w is the weight of its
source, n the number of chunks whose text contains the name (docs/decisions/0003-multihop.md)."""
MIN_CHUNKS = 2
"""Least number n of chunks with a shared name, rare word or identifier: one chunk alone makes no link. A link through
a shared name has the strength w / (1 + ln n)."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal of a chunk, from 0 to `largest`, and its weight in the sum of signals.

    `label` is its name for people. A limited signal lifts no chunk above the best chunk without it.
    """

    name: str
    weight: float
    label: str
    largest: float = 1.0
    is_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSignal(Signal):
    """A signal that links raise.

    A link starts at a source (a chunk found before), at the query, or in a further search. `statement` finds the links
    unless a search does. `meaning` tells clients what the name of a link is. People see the name with the `label`
    ("Ilse Brandt (title)"), or with `heading_label` if the name is a heading. Of several links to a chunk, a link with
    the lowest `priority` is shown. With `is_lexeme` the name is a lexeme, and shown as the chunk's own word.
    """

    meaning: str
    start: Literal["source", "query", "search"]
    priority: int
    statement: str | None = None
    is_lexeme: bool = False
    heading_label: str | None = None


def _round_up(strength: float) -> float:
    """Rounds a strength up to four decimals, because scores are divided by the largest sum."""
    return math.ceil(strength * 10_000) / 10_000


SIGNALS = (
    Signal("fused", 0.75, "both legs"),
    Signal("cos", 1.0, "cosine to the query"),
    LinkSignal(
        "linked",
        1.5,
        "title",
        largest=_round_up(FIRST_STEP / (1 + math.log(1 + 1))),
        heading_label="heading",
        start="source",
        priority=0,
        statement="links",
        meaning="the name is the title of the document or the heading of the section",
    ),
    LinkSignal(
        "shared",
        1.0,
        "shared name",
        largest=_round_up(1 / (1 + math.log(MIN_CHUNKS))),
        start="source",
        priority=3,
        statement="links",
        meaning="both chunks contain it",
    ),
    LinkSignal(
        "named",
        0.5,
        "named in the query",
        start="query",
        priority=1,
        statement="links",
        meaning="the query contains it",
    ),
    LinkSignal("expanded", 0.5, "search term", start="search", priority=6, meaning="the expanded query found the hit"),
    LinkSignal(
        "asked",
        0.5,
        "question of the language model",
        start="search",
        priority=4,
        is_limited=True,
        meaning="the search for a question of the language model found it",
    ),
    LinkSignal(
        "rare",
        2.0,
        "rare word",
        is_limited=True,
        start="source",
        priority=5,
        statement="rare_words",
        is_lexeme=True,
        meaning="both contain a rare word",
    ),
    LinkSignal(
        "identifier",
        3.0,
        "identifier",
        is_limited=True,
        start="source",
        priority=2,
        statement="shared_identifiers",
        meaning="both contain it",
    ),
)
"""Weights are set manually: docs/decisions/0003-multihop.md."""
WEIGHTS = {signal.name: signal.weight for signal in SIGNALS}
LIMITED = tuple(signal.name for signal in SIGNALS if signal.is_limited)
LINKS = {signal.name: signal for signal in SIGNALS if isinstance(signal, LinkSignal)}
BY_NAME = tuple(link.name for link in LINKS.values() if link.statement == "links")
"""The links that follow names."""
STATEMENTS = tuple(dict.fromkeys(link.statement for link in LINKS.values() if link.statement))
LinkKind = TypeAliasType(
    "LinkKind",
    Annotated[
        str,
        Meaning(
            "; ".join(
                f"{link.name}: {link.meaning}"
                for link in sorted(LINKS.values(), key=lambda link: link.start == "search")
            )
            + ".",
            tuple(LINKS),
        ),
    ],
)
"""A kind of link: a name of LINKS."""
