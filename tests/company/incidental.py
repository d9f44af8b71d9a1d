"""Adds names that are not what a question is about, and judged questions that contain them.

Documents get accidental authors and tags, whose names are ordinary words of the questions, and the entities include
people who are called like a site. The questions ask for a fact or a sentence; the name in them is part of a greeting, a
namesake's, an identifier, an ordinary word, or that of a place. Of the type `noise_harsh`, two or more words of a
question in a row are the name of an author and of a team. Flat search is not affected by any of this.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from app.evaluation.beir import JudgedQuestion
from company import noise
from company.documents import ABOUT, Draft
from company.people import Company
from company.vocabulary import Matter, Vocabulary

TYPES = ("noise_author", "noise_tag", "greeting", "namesake", "identifier", "title_case", "place", "noise_harsh")
AUTHORS, TAGS, PLACES = 24, 24, 4
AUTHOR_SHARE, TAG_SHARE = 0.3, 0.4
"""Shares of the documents that get an accidental author, unless they have one, and an accidental tag."""
HARSH_SHARE = 0.2
"""Share of the documents without an author, and of those without a team, that get one from a question's words."""
HARSH = "noise_harsh"
_ORDINARY = re.compile(r"(?<=[a-z,] )[a-z]{5,}")

Grades = dict[str, int]


@dataclass(frozen=True, slots=True)
class IncidentalNames:
    """Ordinary words used as last names of authors (by full name) and as tags, and sites used as people's names."""

    authors: dict[str, str]
    tags: tuple[str, ...]
    places: dict[str, str]

    def entities(self) -> list[dict[str, Any]]:
        """Returns the people who are called like a site, as bodies of `POST /api/rag/entities`."""
        return [
            {"type": "person", "name": name, "aliases": [site] * (place % 2), "role": None, "facts": [], "members": []}
            for place, (site, name) in enumerate(self.places.items())
        ]


def draw(words: Vocabulary, company: Company, rng: Random) -> IncidentalNames:
    """Returns names that no person, team or project of the company has."""
    asked = sorted({word for topic in company.topics for m in topic.matters for word in _ORDINARY.findall(m.ask)})
    ordinary = rng.sample(asked, min(len(asked), AUTHORS + TAGS))
    first = rng.sample([name for name, _ in words.first], AUTHORS)
    authors = {word: f"{name} {word.title()}" for word, name in zip(ordinary[::2], first, strict=False)}
    sites = rng.sample(words.sites, min(PLACES, len(words.sites)))
    strangers = rng.sample(words.incidental["strangers"], len(sites))
    places = {site: f"{site} {last}" for site, last in zip(sites, strangers, strict=True)}
    return IncidentalNames(authors, tuple(ordinary[1::2]), places)


def annotate(documents: Sequence[Draft], names: IncidentalNames, rng: Random) -> None:
    """Adds accidental authors and tags to the metadata of the documents."""
    authors = list(names.authors.values())
    for draft in documents:
        if rng.random() < AUTHOR_SHARE:
            draft.metadata.setdefault("author", rng.choice(authors))
        if rng.random() < TAG_SHARE:
            draft.metadata["tags"] = rng.sample(names.tags, rng.randint(1, 2))


def annotate_harshly(documents: Sequence[Draft], asked: Sequence[JudgedQuestion], rng: Random) -> None:
    """Adds to some documents without author or team one that is called like words of a question of the type HARSH."""
    texts = [question.text for question in asked if question.kind == HARSH]
    for key, find in (("author", noise.capitalised), ("team", noise.pairs)):
        names = sorted({name for text in texts for name in find(text) if " " in name})
        without = [draft for draft in documents if key not in draft.metadata]
        for draft in rng.sample(without, int(HARSH_SHARE * len(without))) if names else ():
            draft.metadata[key] = rng.choice(names)


def questions(
    words: Vocabulary, company: Company, documents: Sequence[Draft], names: IncidentalNames, count: int, rng: Random
) -> list[JudgedQuestion]:
    """Returns up to `count` different questions of each type."""
    generator = _Generator(words, company, documents, names, rng)
    kinds: dict[str, Callable[[], Iterator[tuple[str, Grades]]]] = {
        "noise_author": lambda: generator.containing(set(names.authors)),
        "noise_tag": lambda: generator.containing(set(names.tags)),
        "greeting": generator.greeting,
        "namesake": generator.namesake,
        "identifier": generator.identifier,
        "title_case": generator.title_case,
        "place": lambda: generator.at(set(names.places)),
        HARSH: generator.harsh,
    }
    return [
        JudgedQuestion(f"{kind}-{place:03}", text, relevant, kind)
        for kind, ask in kinds.items()
        for place, (text, relevant) in enumerate(islice(_different(ask()), count))
    ]


def _different(asked: Iterator[tuple[str, Grades]]) -> Iterator[tuple[str, Grades]]:
    seen: set[str] = set()
    for text, relevant in asked:
        if text not in seen:
            seen.add(text)
            yield text, relevant


class _Generator:
    """Generates the questions, one method per form."""

    def __init__(
        self, words: Vocabulary, company: Company, documents: Sequence[Draft], names: IncidentalNames, rng: Random
    ) -> None:
        self.words, self.company, self.documents, self.names, self.rng = words, company, documents, names, rng
        self.matters = {matter.name: matter for topic in company.topics for matter in topic.matters}
        self.facts = sorted({pair for each in documents for pair in each.facts})

    def containing(self, ordinary: set[str]) -> Iterator[tuple[str, Grades]]:
        """Yields questions that contain one of the ordinary words, as a sentence and as keywords."""
        for matter, site, found in self._facts():
            if ordinary & set(re.findall(r"\w+", matter.ask)):
                yield matter.ask.format(site=site), found
            if ordinary & set(matter.words.split()):
                yield matter.words.format(site=site), found

    def at(self, sites: set[str]) -> Iterator[tuple[str, Grades]]:
        """Yields questions about one of the sites that people are called like."""
        for matter, site, found in self._facts():
            if site in sites:
                yield matter.ask.format(site=site), found

    def greeting(self) -> Iterator[tuple[str, Grades]]:
        for matter, site, found in self._facts():
            person = self.rng.choice(self.company.people)
            yield (
                self._form("greeting", who=self.rng.choice((person.first, person.name)), ask=_ask(matter, site)),
                found,
            )

    def namesake(self) -> Iterator[tuple[str, Grades]]:
        for matter, site, found in self._facts():
            first = self.rng.choice(self.company.people).first
            stranger = f"{first} {self.rng.choice(self.words.incidental['strangers'])}"
            yield self._form("namesake", stranger=stranger, ask=_ask(matter, site)), found

    def harsh(self) -> Iterator[tuple[str, Grades]]:
        """Yields questions with a full name that is nobody's of the company."""
        strangers = itertools.cycle(itertools.permutations(self.words.incidental["strangers"], 2))
        for (matter, site, found), (first, last) in zip(self._facts(), strangers, strict=False):
            yield self._form("namesake", stranger=f"{first} {last}", ask=_ask(matter, site)), found

    def identifier(self) -> Iterator[tuple[str, Grades]]:
        for matter, site, found in self._facts():
            part = self.rng.choice(self.company.projects).name.replace(" ", "_")
            slots = {"lower": part.lower(), "upper": part.upper(), "words": matter.words.format(site=site)}
            yield self._form("identifier", **slots), found

    def title_case(self) -> Iterator[tuple[str, Grades]]:
        """Yields sentences that use a project's name as an ordinary noun, in title case, capitals and lower case."""
        for write in (str.title, str.upper, str.lower):
            for project in self.company.projects:
                found = {each.uri: ABOUT for each in self.documents if project.everyday in each.sentences}
                if found:
                    yield write(project.everyday.rstrip(".")).replace("'S ", "'s "), found

    def _facts(self) -> Iterator[tuple[Matter, str, Grades]]:
        for name, site in self.rng.sample(self.facts, len(self.facts)):
            found = {each.uri: ABOUT for each in self.documents if (name, site) in each.facts}
            yield self.matters[name], site, found

    def _form(self, kind: str, **slots: str) -> str:
        return self.rng.choice(self.words.incidental[kind]).format(**slots)


def _ask(matter: Matter, site: str) -> str:
    return matter.ask.format(site=site)
