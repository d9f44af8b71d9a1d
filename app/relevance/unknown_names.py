"""Finds the names and identifiers of a query, or many of its words, that are in no document of the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from app.query.search_types import Term, absent_terms
from app.relevance import stem_matching
from app.text.names import names, names_in_queries
from app.text.queries import identifiers
from app.text.words import languages, tsvector_text, word_lists

LEAST_KNOWN = 0.5
"""Documents must contain at least this share of the other words of a query, or they are in another language."""
LEAST_NAMED, LEAST_UNKNOWN = 0.1, 1 / 3
"""The least share of a query's words with which it asks about unknown names, and about other unknown words."""
GERMAN = "german"
"""The text-search configuration of a language where capitals do not mark names, and compounds are often new words."""


def find(
    query: str, terms: Sequence[Term], *, config: str, known_words: Collection[str] = (), best: str = ""
) -> list[str]:
    """Returns the identifiers and names that no document has, or else the unknown words if there are many.

    A name is unknown if all of its words are. Returns only identifiers if the documents' language differs. `terms` are
    the terms of the text leg, including those that steps have added. `config` is the text-search configuration of the
    documents. `known_words` are known in another way, such as aliases. `best` is the text of the best candidate.
    """
    absent = dict.fromkeys(absent_terms(terms))
    missing = [stem_matching.fold(one.lexeme) for one in absent if not one.is_added]
    if not missing:
        return []
    known = {lexeme: stem_matching.fold(lexeme) for one in terms if one not in absent for lexeme in one.parts}
    long = [folded for lexeme, folded in known.items() if len(lexeme) >= stem_matching.SHORTEST]
    read = names_in_queries.read(query)
    indexed = [index for index, word in enumerate(read.words) if _has_stem(word, (*known.values(), *missing))]
    unknown = {index for index in indexed if not (read.words[index] in known or _has_stem(read.words[index], long))}
    strange = {index for index in unknown if read.words[index] not in known_words}
    codes = {code: names.words(code) for code in identifiers.find_identifiers(query)}
    strange_words = {read.words[index] for index in strange}
    unstored = [words for code, words in codes.items() if not _is_stored(code, words, known.values(), strange_words)]
    unstored = [words for words in unstored if not set(known_words).issuperset(words)]
    named = _unwritten(unstored, best) if unstored else []
    plain = [index for index in indexed if not any(read.words[index] in words for words in codes.values())]
    has_case = config != GERMAN and any(read.small[index] for index in indexed)
    runs = list(_capitalised(read, plain)) if has_case else []
    others = set(plain).difference(*runs)
    is_readable = others and len(others - unknown) >= LEAST_KNOWN * len(others)
    if is_readable:
        named += [[read.words[index] for index in run] for run in runs if strange.issuperset(run)]
    if sum(map(len, named)) >= max(1, LEAST_NAMED * len(indexed)):
        return list(map(" ".join, named))
    if not is_readable or config == GERMAN:
        return []
    # The first word may be an asking verb, such as "describe".
    words = [read.words[index] for index in sorted(strange & others) if index]
    rare = [word for word in words if _has_stem(word, missing) and not _is_common(word)]
    return rare if len(rare) >= max(1, LEAST_UNKNOWN * len(indexed)) else []


def _is_common(word: str) -> bool:
    return word in word_lists.CONTRACTIONS or languages.is_frequent(word)


def _is_stored(code: str, words: Sequence[str], known: Iterable[str], strange: Collection[str]) -> bool:
    """Returns whether documents may have an identifier with these words.

    `err_stream` is indexed as "errstream err stream", and the first decides. Of `err_2207` all words must be known; of
    a path, an address or `client.search`, one.
    """
    indexed = tsvector_text.index_text(code, "simple").split()
    if len(indexed) > 1 and indexed[0] == "".join(words):
        return any(len(one) > len(indexed[1]) and stem_matching.may_be_stem(one, indexed[0]) for one in known)
    suffices = all if all(map(str.isalnum, indexed)) else any
    return suffices(word not in strange for word in words)


def _unwritten(codes: Iterable[Sequence[str]], text: str) -> list[Sequence[str]]:
    """Returns the identifiers, each as its words, that a text does not write with other separators either."""
    written = "".join(names.words(text))
    return [words for words in codes if "".join(words) not in written]


def _capitalised(read: names_in_queries.QueryWords, indexed: Sequence[int]) -> Iterator[list[int]]:
    """Yields the positions of the words of each name: a run of capitalised words."""
    run: list[int] = []
    for index in indexed:
        if not read.capital[index] or read.opens[index] or not names.has_proper_word([read.words[index]]):
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
