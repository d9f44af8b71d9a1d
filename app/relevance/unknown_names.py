"""Finds the names and identifiers of a query, or many of its words, that are in no document of the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from app.query.types import Term
from app.relevance import stem_matching
from app.text.names import names, query_words
from app.text.queries import identifiers
from app.text.words import languages, word_lists

LEAST_KNOWN = 0.5
"""Documents must contain at least this share of the other words of a query, or they are in another language."""
LEAST_NAMED, LEAST_UNKNOWN = 0.1, 1 / 3
"""The least share of a query's words with which it asks about unknown names, and about other unknown words."""
GERMAN = "german"
"""The text-search configuration of a language where capitals do not mark names, and compounds are often new words."""


def find(query: str, terms: Sequence[Term], *, config: str, known_words: Collection[str] = ()) -> list[str]:
    """Returns the names and identifiers without any word in a document, or else the unknown words if there are many.

    Returns none if the documents' language differs. `terms` are the terms of the text leg, including corrections and
    synonyms. `config` is the text-search configuration of the documents. `known_words` are known in another way, such
    as aliases.
    """
    missing = [stem_matching.fold(one.lexeme) for one in terms if not one.df and not one.is_added]
    if not missing:
        return []
    known = {lexeme: stem_matching.fold(lexeme) for one in terms if one.df for lexeme in one.parts}
    long = [folded for lexeme, folded in known.items() if len(lexeme) >= stem_matching.SHORTEST]
    read = query_words.read(query)
    indexed = [index for index, word in enumerate(read.words) if _has_stem(word, (*known.values(), *missing))]
    unknown = {index for index in indexed if not (read.words[index] in known or _has_stem(read.words[index], long))}
    has_case = config != GERMAN and any(read.small[index] for index in indexed)
    runs = list(_names(query, read, indexed, has_case=has_case))
    others = set(indexed).difference(*runs)
    if not others or len(others - unknown) < LEAST_KNOWN * len(others):
        return []
    strange = {index for index in unknown if read.words[index] not in known_words}
    named = [run for run in runs if strange.issuperset(run)]
    if sum(map(len, named)) >= max(1, LEAST_NAMED * len(indexed)):
        return [" ".join(read.words[index] for index in run) for run in named]
    # The first word may be an asking verb, such as "describe".
    words = [read.words[index] for index in sorted(strange & others) if index and config != GERMAN]
    words = [word for word in words if word not in word_lists.CONTRACTIONS]
    rare = [word for word in words if _has_stem(word, missing) and not languages.is_frequent(word)]
    return rare if len(rare) >= max(1, LEAST_UNKNOWN * len(indexed)) else []


def _names(query: str, read: query_words.QueryWords, indexed: Sequence[int], *, has_case: bool) -> Iterator[list[int]]:
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


def _has_stem(word: str, folded: Iterable[str]) -> bool:
    """Returns whether a word, if it is not a question word, may have one of these folded stems."""
    return word not in word_lists.QUESTION_WORDS and any(stem_matching.may_be_stem(one, word) for one in folded)
