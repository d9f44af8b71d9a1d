"""Defines a user's synonyms, and what a query is expanded by."""

from __future__ import annotations

from dataclasses import dataclass

MAX_GROUPS, MAX_TERMS, MAX_LENGTH = 500, 20, 100
"""Groups of synonyms of a user, words and phrases of each side of a group, and characters of one."""


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Words and phrases that are searched for one another.

    With `expand_to`, a query with one of `terms` also searches for those, and nothing else follows.
    """

    terms: tuple[str, ...]
    expand_to: tuple[str, ...] = ()
