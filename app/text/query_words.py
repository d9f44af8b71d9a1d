"""Finds names in a query, and decides whether they are written as names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.text import names

_WHO = frozenset(["who", "whom", "whose", "wer", "wen", "wem", "wessen", "qui", "quien", "quienes", "quem", "chi"])


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A query's words as `names.words` folds them: where each stands, and which are written small, begin with a capital
    or open a sentence. Read once, because a query holds hundreds of words and may hold as many names."""

    words: tuple[str, ...]
    places: Mapping[str, Sequence[int]]
    small: tuple[bool, ...]
    capital: tuple[bool, ...]
    opens: tuple[bool, ...]


def read(text: str) -> QueryWords:
    """Take a query's words apart."""
    words = names.words(text)
    starts = [start for start, _end in names.word_offsets(text)]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    return QueryWords(
        words=tuple(words),
        places=places,
        small=tuple(text[start].islower() for start in starts),
        capital=tuple(text[start].isupper() for start in starts),
        opens=tuple(_opens(text, start) for start in starts),
    )


def longest_names(query: QueryWords, keys: Collection[str]) -> set[str]:
    """Those of the keys that stand in the query outside of longer ones: leftmost first, the longest at each place."""
    words = query.words
    found: set[str] = set()
    at = 0
    while at < len(words):
        widths = range(min(names.MAX_WORDS, len(words) - at), 0, -1)
        width = next((n for n in widths if " ".join(words[at : at + n]) in keys), 0)
        if width:
            found.add(" ".join(words[at : at + width]))
        at += max(width, 1)
    return found


def is_written_as_name(query: QueryWords, key: str) -> bool:
    """Whether the query writes a name as one: each of its telling words with a capital or a digit, and not because a
    sentence begins with the only one; or it asks for nothing else, with a capital."""
    wanted = tuple(key.split(" "))
    if query.words == wanted:
        return query.capital[0]
    starts = query.places.get(wanted[0], ())
    return any(
        query.words[start : start + len(wanted)] == wanted and _is_large(query, start, start + len(wanted))
        for start in starts
    )


def capitalised_alone(query: QueryWords) -> list[int]:
    """The places of the words that are written as names by themselves."""
    return [place for place in range(len(query.words)) if _is_large(query, place, place + 1)]


def has_capitalised_names(query: QueryWords) -> bool:
    """Whether a word is written with a capital that no sentence begins with."""
    return any(capital and not opens for capital, opens in zip(query.capital, query.opens, strict=True))


def asks_for_type(query: QueryWords, kind: str) -> bool:
    """Whether a query asks for an entity of a kind: who does something, or which one of that kind ("which vendor")."""
    wanted = (*names.words(kind), *names.words(f"{kind}s"))
    return any(word in query.places for word in (*_WHO, *wanted))


def _is_large(query: QueryWords, start: int, end: int) -> bool:
    telling = [place for place in range(start, end) if names.is_distinctive(query.words[place : place + 1])]
    if not telling or any(query.small[place] for place in telling):
        return False
    return len(telling) > 1 or not query.opens[telling[0]]


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start].rstrip(" \"'“‘«([")
    return (not before and start <= 12) or before[-1:] in tuple(".!?:;…")
