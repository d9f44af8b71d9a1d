"""Reads a query's words: the names among them, their capitalisation, and whether they ask for an entity type."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.text import names, stop_words


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query as `names.words` folds them.

    `places` maps a word to its positions; `small`, `capital` and `opens` hold for each word whether it starts with a
    lower-case letter, with a capital, or a sentence. Computed once per query, which may contain hundreds of names.
    """

    words: tuple[str, ...]
    places: Mapping[str, Sequence[int]]
    small: tuple[bool, ...]
    capital: tuple[bool, ...]
    opens: tuple[bool, ...]


def read(text: str) -> QueryWords:
    """Splits a query into words."""
    words = names.words(text)
    starts = [start for start, _end in names.word_offsets(text)]
    places: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        places.setdefault(word, []).append(index)
    return QueryWords(
        words=tuple(words),
        places=places,
        small=tuple(text[start].islower() for start in starts),
        capital=tuple(text[start].isupper() for start in starts),
        opens=tuple(_opens(text, start) for start in starts),
    )


def longest_names(query: QueryWords, keys: Collection[str]) -> set[str]:
    """Returns the keys that occur in the query, leftmost first, the longest at each position, without overlaps."""
    words = query.words
    found: set[str] = set()
    start = 0
    while start < len(words):
        widths = range(min(names.MAX_WORDS, len(words) - start), 0, -1)
        width = next((n for n in widths if " ".join(words[start : start + n]) in keys), 0)
        if width:
            found.add(" ".join(words[start : start + width]))
        start += max(width, 1)
    return found


def is_written_as_name(query: QueryWords, key: str) -> bool:
    """Returns whether a name is capitalised in the query.

    Each distinctive word of it starts with a capital or digit, and a single one does not start a sentence; or the name
    is the whole query and starts with a capital.
    """
    words = tuple(key.split(" "))
    if query.words == words:
        return query.capital[0]
    starts = query.places.get(words[0], ())
    return any(
        query.words[start : start + len(words)] == words and _is_capitalised(query, start, start + len(words))
        for start in starts
    )


def capitalised_alone(query: QueryWords) -> list[int]:
    """Returns the positions of the words that are capitalised as names by themselves."""
    return [index for index in range(len(query.words)) if _is_capitalised(query, index, index + 1)]


def has_capitalised_names(query: QueryWords) -> bool:
    """Returns whether a word starts with a capital and does not start a sentence."""
    return any(capital and not opens for capital, opens in zip(query.capital, query.opens, strict=True))


def asks_for_type(query: QueryWords, kind: str) -> bool:
    """Returns whether a query asks for an entity of a type: for a person ("who …"), or by the type ("which vendor")."""
    type_words = (*names.words(kind), *names.words(f"{kind}s"))
    return any(word in query.places for word in (*stop_words.PERSON_QUESTION_WORDS, *type_words))


def _is_capitalised(query: QueryWords, start: int, end: int) -> bool:
    distinctive = [i for i in range(start, end) if names.is_distinctive(query.words[i : i + 1])]
    if not distinctive or any(query.small[i] for i in distinctive):
        return False
    return len(distinctive) > 1 or not query.opens[distinctive[0]]


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 12) : start].rstrip(" \"'“‘«([")
    return (not before and start <= 12) or before[-1:] in tuple(".!?:;…")
