"""Splits a query into words with their capitalisation, and finds known names, possible roles and requested types."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from app.text.names import names
from app.text.words import word_lists


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query in the form of `names.words`.

    `small`, `capital` and `opens` say for each word whether it starts with a lower-case letter, with a capital, or
    starts a sentence. Computed once per query, because a query may contain hundreds of names.
    """

    words: tuple[str, ...]
    small: tuple[bool, ...]
    capital: tuple[bool, ...]
    opens: tuple[bool, ...]


@lru_cache(maxsize=64)
def read(text: str) -> QueryWords:
    """Splits a query into words."""
    starts = [start for start, _end in names.word_offsets(text)]
    opens = []
    for start in starts:
        before = text[max(0, start - 12) : start].rstrip(" \"'“‘«([¿¡")
        opens.append(start <= 12 if not before else before[-1] in ".!?:;…")
    return QueryWords(
        words=tuple(names.words(text)),
        small=tuple([text[start].islower() for start in starts]),
        capital=tuple([text[start].isupper() for start in starts]),
        opens=tuple(opens),
    )


def longest_names(query: QueryWords, keys: Collection[str]) -> dict[str, list[tuple[int, int]]]:
    """Returns the keys that occur in the query, leftmost first, the longest at each position, without overlaps.

    Each key has its places: start and end (exclusive) in words.
    """
    words = query.words
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    while start < len(words):
        widths = range(min(names.MAX_WORDS, len(words) - start), 0, -1)
        width = next((n for n in widths if " ".join(words[start : start + n]) in keys), 0)
        if width:
            found.setdefault(" ".join(words[start : start + width]), []).append((start, start + width))
        start += max(width, 1)
    return found


def role_sequences(query: QueryWords) -> set[str]:
    """Returns the word sequences that may be a role in the user's organisation.

    They follow a determiner ("the lead mason"), are the whole query, or are anywhere in a question for a person.
    """
    words = query.words
    if any(word in words for word in word_lists.PERSON_QUESTION_WORDS):
        return set(names.sequences(" ".join(words)))
    starts = [index + 1 for index, word in enumerate(words) if word in word_lists.DETERMINERS]
    found = {" ".join(words[start:end]) for start in starts for end in range(start + 1, start + names.MAX_WORDS + 1)}
    return found | ({" ".join(words)} if len(words) <= names.MAX_WORDS else set())


def asks_for_type(query: QueryWords, kind: str) -> bool:
    """Returns whether a query asks "who …", whatever the type, or names the type ("which vendor")."""
    type_words = (*names.words(kind), *names.words(f"{kind}s"))
    return any(word in query.words for word in (*word_lists.PERSON_QUESTION_WORDS, *type_words))
