"""Finds the names and identifiers of a query that no document of the caller contains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from app.query.types import Term
from app.relevance import stems
from app.text.names import names, query_words
from app.text.names.query_words import QueryWords
from app.text.queries import identifiers
from app.text.words import stop_words

LEAST_KNOWN = 0.5
"""Share of the other words of a query that documents must contain: otherwise they are in another language."""
CAPITALISES_NOUNS = "german"
"""The text-search configuration of the language in which a capital says nothing."""


def find(query: str, terms: Sequence[Term], *, config: str, known_words: Collection[str] = ()) -> list[str]:
    """Returns the names and identifiers of which no document contains a word; none if the documents' language differs.

    `terms` are those of the text leg, with what corrections and synonyms have added. `config` is the text-search
    configuration of the documents. `known_words` are known in another way, such as aliases.
    """
    missing = [one.lexeme for one in terms if not one.df and not one.is_added]
    if not missing:
        return []
    known = [part for one in terms if one.df for part in one.parts]
    read = query_words.read(query)
    indexed = [index for index, word in enumerate(read.words) if _has_stem(word, (*known, *missing))]
    has_case = config != CAPITALISES_NOUNS and any(read.small[index] for index in indexed)
    runs = list(_names(query, read, indexed, has_case=has_case))
    named = {index for run in runs for index in run}
    others = [_is_known(read.words[index], known) for index in indexed if index not in named]
    if not others or sum(others) < LEAST_KNOWN * len(others):
        return []
    words = ([read.words[index] for index in run] for run in runs)
    return [" ".join(run) for run in words if not any(word in known_words or _is_known(word, known) for word in run)]


def _names(query: str, read: QueryWords, indexed: Sequence[int], *, has_case: bool) -> Iterator[list[int]]:
    """Yields the positions of the words of each name: a run of capitalised words, or an identifier."""
    coded = {word for token in identifiers.whole(query) for word in names.words(token)}
    run: list[int] = []
    for index in indexed:
        word = read.words[index]
        is_capital = has_case and read.capital[index] and not read.opens[index] and names.is_not_a_date([word])
        if not (is_capital or word in coded):
            continue
        if run and index != run[-1] + 1:
            yield run
            run = []
        run.append(index)
    if run:
        yield run


def _is_known(word: str, known: Sequence[str]) -> bool:
    return any(word == one or (len(one) >= stems.SHORTEST and stems.may_be_stem(one, word)) for one in known)


def _has_stem(word: str, lexemes: Sequence[str]) -> bool:
    return word not in stop_words.QUESTION_WORDS and any(stems.may_be_stem(one, word) for one in lexemes)
