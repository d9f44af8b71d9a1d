"""Caches the synonyms of users with their terms analysed.

Keys contain the version when the synonyms were stored, which the first statement of each transaction reads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from app.store.connection.transactions import Reading
from app.store.search.synonyms import AnalysedTerm

MAX_TERMS = 100_000
"""Cached terms of all users together, one for each text-search configuration."""

Key = tuple[str, int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class TermGroup:
    """The places of the terms of a group: a query that contains one of `terms` is expanded by `expansions`."""

    terms: Sequence[int]
    expansions: Sequence[int]


class AnalysedSynonyms:
    """The synonyms of a user: all terms, their groups, and their lexemes by configuration."""

    __slots__ = ("by_first", "by_place", "groups", "size", "terms")

    def __init__(
        self, terms: Sequence[str], groups: Sequence[TermGroup], analysed: dict[str, list[AnalysedTerm]]
    ) -> None:
        self.terms, self.groups = terms, groups
        self.by_place = {(config, term.place): term for config, found in analysed.items() for term in found}
        self.by_first: dict[tuple[str, str], list[AnalysedTerm]] = {}
        for config, found in analysed.items():
            for term in found:
                self.by_first.setdefault((config, term.lexemes[0]), []).append(term)
        self.size = 1 + len(terms) + len(self.by_place)


@dataclass(frozen=True, slots=True)
class SynonymCache:
    """The analysed synonyms of the users who have searched last."""

    entries: LRUCache[Key, AnalysedSynonyms] = field(
        default_factory=lambda: LRUCache(MAX_TERMS, getsizeof=lambda one: one.size)
    )

    def get(self, db: Reading, configs: Collection[str]) -> AnalysedSynonyms | None:
        """The cached synonyms in these text-search configurations, as they are stored in the transaction's snapshot."""
        return self.entries.get(_key(db, configs))

    def put(self, db: Reading, configs: Collection[str], found: AnalysedSynonyms) -> None:
        """Cache the synonyms, unless they are too many."""
        if found.size <= self.entries.maxsize:
            self.entries[_key(db, configs)] = found


def _key(db: Reading, configs: Collection[str]) -> Key:
    return db.user_id, db.synonyms_version, frozenset(configs)
