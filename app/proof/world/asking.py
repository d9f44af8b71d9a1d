"""What may be asked about the made-up company, and which documents answer it?

Nothing is searched for: the answers follow from what each document was written about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import TypeVar

from app.proof.beir import Question
from app.proof.world import cast as casting
from app.proof.world import vocabulary
from app.proof.world.cast import Cast, Person
from app.proof.world.vocabulary import Matter, Vocabulary
from app.proof.world.writing import ABOUT, SPAN_DAYS, START, TOUCHED, Written
from app.shapes import Filters

FEWEST_ANSWERS, FEWEST_DEEDS = 4, 2
"""A question about an entity has at least so many documents about it; one about an entity and a matter, so many."""
WINDOW = timedelta(days=91)
NARROWED = 0.35
"""Share of the questions about projects and teams that also name a matter."""

T = TypeVar("T")
Found = dict[str, int]
Asked = Iterator[tuple[str, Found, Filters]]


def questions(words: Vocabulary, cast: Cast, documents: Sequence[Written], count: int, rng: Random) -> list[Question]:
    """Up to `count` different questions of each of the seven types, fewer where the company is too small."""
    asker = _Asker(words, cast, documents, rng)
    asking: dict[str, Callable[[], Asked]] = {
        "person": asker.person,
        "project": asker.project,
        "team": asker.team,
        "topic_person": asker.topic_person,
        "topic": asker.topic,
        "keyword": asker.keyword,
        "date": asker.date,
    }
    return [
        Question(f"{kind}-{place:03}", text, relevant, kind, filters)
        for kind, ask in asking.items()
        for place, (text, relevant, filters) in enumerate(islice(_different(ask()), count))
    ]


def _different(asked: Asked) -> Asked:
    """Each question once, and only those with an answer."""
    said: set[tuple[str, datetime | None]] = set()
    for text, relevant, filters in asked:
        if relevant and (text, filters.created_after) not in said:
            said.add((text, filters.created_after))
            yield text, relevant, filters


class _Asker:
    """Asks about one company; every method goes round until it has nothing new to ask."""

    def __init__(self, words: Vocabulary, cast: Cast, documents: Sequence[Written], rng: Random) -> None:
        self.words, self.cast, self.documents, self.rng = words, cast, documents, rng
        self.matters = [matter for topic in cast.topics for matter in topic.matters]
        self.by_name = {matter.name: matter for matter in self.matters}

    def person(self) -> Asked:
        for person in self._round(self.cast.people, 3):
            yield from self._about(self._form("person", who=self._called(person)), self._entity(person.name))

    def project(self) -> Asked:
        for project in self._round(self.cast.projects, 8):
            called = project.alias if self.rng.random() < 0.2 else project.name
            if self.rng.random() < NARROWED:
                matter = self.rng.choice(project.matters)
                text = self._form("project_matter", project=called, matter=matter.name)
                yield from self._about(text, self._deeds(project.name, matter), FEWEST_DEEDS)
            else:
                yield from self._about(self._form("project", project=called), self._entity(project.name))

    def team(self) -> Asked:
        for team in self._round(self.cast.teams, 12):
            matter = self.rng.choice(team.topic.matters)
            if self.rng.random() < NARROWED:
                found = self._team_deeds(team.name, team.members, matter)
                yield from self._about(
                    self._form("team_matter", team=team.name, matter=matter.name), found, FEWEST_DEEDS
                )
            else:
                called = team.alias if self.rng.random() < 0.2 else team.name
                yield from self._about(self._form("team", team=called), self._team(team.name, team.members))

    def topic_person(self) -> Asked:
        for person in self._round(self.cast.people, 4):
            matter = self.rng.choice(person.matters)
            text = self._form("topic_person", who=self._called(person), matter=matter.name)
            yield from self._about(text, self._deeds(person.name, matter), FEWEST_DEEDS)

    def topic(self) -> Asked:
        for matter, site, found in self._told():
            yield matter.ask.format(site=site), found, Filters()

    def keyword(self) -> Asked:
        codes = sorted({each.code for each in self.documents if each.code})
        cases = self.rng.sample(codes, len(codes))
        for (matter, site, found), code in zip(self._told(), cases, strict=False):
            yield matter.words.format(site=site), found, Filters()
            yield code, {each.uri: ABOUT for each in self.documents if each.code == code}, Filters()

    def date(self) -> Asked:
        for matter in self._round([matter for matter in self.matters if self._on(matter)], 3):
            since = START + timedelta(days=self.rng.randrange(SPAN_DAYS - WINDOW.days))
            window = Filters(created_after=since, created_before=since + WINDOW)
            yield matter.name, self._dated(matter, since, since + WINDOW), window
            written = self.rng.choice(self._on(matter)).created_at
            month = written.replace(day=1, hour=0, minute=0)
            following = (month + timedelta(days=32)).replace(day=1)
            slots = {"month": vocabulary.MONTHS[month.month - 1], "year": str(month.year)}
            text = self._form("date_words", matter=matter.name, **slots)
            yield text, self._dated(matter, month, following), Filters()

    def _told(self) -> Iterator[tuple[Matter, str, Found]]:
        """Facts at a site with the documents that tell them."""
        told = sorted({pair for each in self.documents for pair in each.told})
        for name, site in self.rng.sample(told, len(told)):
            found = {each.uri: ABOUT for each in self.documents if (name, site) in each.told}
            yield self.by_name[name], site, found

    def _on(self, matter: Matter) -> list[Written]:
        return [each for each in self.documents if matter.name in each.matters]

    def _dated(self, matter: Matter, since: datetime, until: datetime) -> Found:
        on = self._on(matter)
        return {each.uri: each.matters[matter.name] for each in on if since <= each.created_at < until}

    def _entity(self, name: str) -> Found:
        return {each.uri: each.entities[name] for each in self.documents if name in each.entities}

    def _deeds(self, name: str, matter: Matter) -> Found:
        key = name, matter.name
        return {each.uri: each.deeds[key] for each in self.documents if key in each.deeds}

    def _team(self, name: str, members: Sequence[str]) -> Found:
        """What a team says of itself, and what its members do."""
        own = {each.uri: TOUCHED for member in members for each in self.documents if each.entities.get(member) == ABOUT}
        return {**own, **self._entity(name)}

    def _team_deeds(self, name: str, members: Sequence[str], matter: Matter) -> Found:
        own = {
            uri: TOUCHED for member in members for uri, grade in self._deeds(member, matter).items() if grade == ABOUT
        }
        return {**own, **self._deeds(name, matter)}

    @staticmethod
    def _about(text: str, found: Found, fewest: int = FEWEST_ANSWERS) -> Asked:
        if sum(grade == ABOUT for grade in found.values()) >= fewest:
            yield text, found, Filters()

    def _called(self, person: Person) -> str:
        """A person as somebody would call them: mostly by the full name, now and then misspelt."""
        form = self.rng.random()
        if person.first_is_unique and form < 0.45:
            return person.first
        if form < 0.25:
            return person.nick
        if form < 0.35:
            return casting.plain(person.name)
        return _misspelt(person.name, self.rng) if form < 0.4 else person.name

    def _form(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.questions[kind]), self.rng, **slots)

    def _round(self, all_of_them: Sequence[T], times: int) -> Iterator[T]:
        for _ in range(times):
            yield from self.rng.sample(all_of_them, len(all_of_them))


def _misspelt(name: str, rng: Random) -> str:
    """A name with two neighbouring letters exchanged near its end."""
    place = len(name) - rng.randint(2, 4)
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]
