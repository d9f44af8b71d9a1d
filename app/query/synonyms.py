"""Defines a synonym of a word or phrase of a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SynonymPhrase:
    """Several lexemes of a synonym in one text-search configuration, and the tsquery that finds them in their order."""

    config: str
    lexemes: tuple[str, ...]
    query: str

    @property
    def name(self) -> str:
        """The lexemes, separated by spaces."""
        return " ".join(self.lexemes)


@dataclass(frozen=True, slots=True)
class Synonym:
    """A synonym of a word or phrase of a query, in the forms in which the user's chunks contain it.

    `word` and `term` are what the group has for the query's words and for the synonym. `idf` is that of the query's
    words, which that of the synonym does not exceed; `sources` are their lexemes.
    """

    word: str
    term: str
    idf: float
    sources: tuple[str, ...]
    lexemes: tuple[str, ...] = ()
    phrases: tuple[SynonymPhrase, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Its forms as terms of the query."""
        return (*self.lexemes, *(phrase.name for phrase in self.phrases))
