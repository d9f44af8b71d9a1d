"""Defines how a query uses a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NameForm = Literal["full", "word", "part", "role", "topic"]


NameCase = Literal["capital", "small", "unknown", "uniform"]


@dataclass(frozen=True, slots=True)
class NameUse:
    """How a query refers to an entity.

    `form`: by a name of several words, of one word, a first or last name alone, a role, or the topic of its facts.
    `words` are the words of the query that refer to it. `case`: whether capitals show that these are a name or ordinary
    words; `uniform` if most words are capitalised. `in_identifier`: they are part of a path, URL or identifier.
    `has_neighbour`: a capitalised word next to them belongs to another name. `is_address`: the query addresses the
    person or is signed by them. `is_place`: a person's name follows a preposition of place. `phrases` are the words
    with an ordinary word beside them, which may make them part of a phrase.
    """

    form: NameForm
    words: tuple[str, ...] = ()
    case: NameCase = "unknown"
    in_identifier: bool = False
    has_neighbour: bool = False
    is_address: bool = False
    is_place: bool = False
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def is_incidental(self) -> bool:
        """Whether the name is certainly not what the query is about."""
        return self.in_identifier or self.has_neighbour or self.is_address
