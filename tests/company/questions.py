"""Generates judged questions about the company.

The relevant documents follow from what each document was written about; no search is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import TypeVar

from app.database.filter_types import Filters
from app.evaluation.beir import JudgedQuestion
from company import people, vocabulary
from company.documents import ABOUT, SPAN_DAYS, START, TOUCHED, Draft
from company.people import Company, Person
from company.vocabulary import Matter, Vocabulary

MIN_ABOUT_ENTITY, MIN_ABOUT_ACTIVITY = 4, 2
"""Minimum number of relevant documents: for a question about an entity, and about an entity and a matter."""
WINDOW = timedelta(days=91)
NARROWED = 0.35
"""Share of the questions on projects and teams that also name a matter."""

T = TypeVar("T")
Grades = dict[str, int]
"""Relevance by document."""
Candidates = Iterator[tuple[str, Grades, Filters]]


def generate(
    words: Vocabulary, company: Company, documents: Sequence[Draft], count: int, rng: Random
) -> list[JudgedQuestion]:
    """Returns up to `count` different questions of each of the seven types, fewer for a small company."""
    generator = _Generator(words, company, documents, rng)
    kinds: dict[str, Callable[[], Candidates]] = {
        "person": generator.person,
        "project": generator.project,
        "team": generator.team,
        "topic_person": generator.topic_person,
        "topic": generator.topic,
        "keyword": generator.keyword,
        "date": generator.date,
    }
    return [
        JudgedQuestion(f"{kind}-{place:03}", text, relevant, kind, filters)
        for kind, ask in kinds.items()
        for place, (text, relevant, filters) in enumerate(islice(_different(ask()), count))
    ]


def _different(asked: Candidates) -> Candidates:
    """Yields each question that has a relevant document once."""
    seen: set[tuple[str, datetime | None]] = set()
    for text, relevant, filters in asked:
        if relevant and (text, filters.created_after) not in seen:
            seen.add((text, filters.created_after))
            yield text, relevant, filters


class _Generator:
    """Generates questions about one company, one method per type; the order is random and repetitions occur."""

    def __init__(self, words: Vocabulary, company: Company, documents: Sequence[Draft], rng: Random) -> None:
        self.words, self.company, self.documents, self.rng = words, company, documents, rng
        self.matters = [matter for topic in company.topics for matter in topic.matters]
        self.by_name = {matter.name: matter for matter in self.matters}

    def person(self) -> Candidates:
        for person in self._round(self.company.people, 3):
            yield from self._about(self._form("person", who=self._reference(person)), self._entity(person.name))

    def project(self) -> Candidates:
        for project in self._round(self.company.projects, 8):
            called = project.alias if self.rng.random() < 0.2 else project.name
            if self.rng.random() < NARROWED:
                matter = self.rng.choice(project.matters)
                text = self._form("project_matter", project=called, matter=matter.name)
                yield from self._about(text, self._activities(project.name, matter), MIN_ABOUT_ACTIVITY)
            else:
                yield from self._about(self._form("project", project=called), self._entity(project.name))

    def team(self) -> Candidates:
        for team in self._round(self.company.teams, 12):
            matter = self.rng.choice(team.topic.matters)
            if self.rng.random() < NARROWED:
                found = self._team_activities(team.name, team.members, matter)
                yield from self._about(
                    self._form("team_matter", team=team.name, matter=matter.name), found, MIN_ABOUT_ACTIVITY
                )
            else:
                called = team.alias if self.rng.random() < 0.2 else team.name
                yield from self._about(self._form("team", team=called), self._team(team.name, team.members))

    def topic_person(self) -> Candidates:
        for person in self._round(self.company.people, 4):
            matter = self.rng.choice(person.matters)
            text = self._form("topic_person", who=self._reference(person), matter=matter.name)
            yield from self._about(text, self._activities(person.name, matter), MIN_ABOUT_ACTIVITY)

    def topic(self) -> Candidates:
        for matter, site, found in self._facts():
            yield matter.ask.format(site=site), found, Filters()

    def keyword(self) -> Candidates:
        codes = sorted({each.code for each in self.documents if each.code})
        cases = self.rng.sample(codes, len(codes))
        for (matter, site, found), code in zip(self._facts(), cases, strict=False):
            yield matter.words.format(site=site), found, Filters()
            yield code, {each.uri: ABOUT for each in self.documents if each.code == code}, Filters()

    def date(self) -> Candidates:
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

    def _facts(self) -> Iterator[tuple[Matter, str, Grades]]:
        """Yields each fact at a site with the documents that state it."""
        facts = sorted({pair for each in self.documents for pair in each.facts})
        for name, site in self.rng.sample(facts, len(facts)):
            found = {each.uri: ABOUT for each in self.documents if (name, site) in each.facts}
            yield self.by_name[name], site, found

    def _on(self, matter: Matter) -> list[Draft]:
        return [each for each in self.documents if matter.name in each.matters]

    def _dated(self, matter: Matter, since: datetime, until: datetime) -> Grades:
        on = self._on(matter)
        return {each.uri: each.matters[matter.name] for each in on if since <= each.created_at < until}

    def _entity(self, name: str) -> Grades:
        return {each.uri: each.entities[name] for each in self.documents if name in each.entities}

    def _activities(self, name: str, matter: Matter) -> Grades:
        key = name, matter.name
        return {each.uri: each.activities[key] for each in self.documents if key in each.activities}

    def _team(self, name: str, members: Sequence[str]) -> Grades:
        """Grades the team's own documents and those about its members."""
        own = {each.uri: TOUCHED for member in members for each in self.documents if each.entities.get(member) == ABOUT}
        return {**own, **self._entity(name)}

    def _team_activities(self, name: str, members: Sequence[str], matter: Matter) -> Grades:
        own = {
            uri: TOUCHED
            for member in members
            for uri, grade in self._activities(member, matter).items()
            if grade == ABOUT
        }
        return {**own, **self._activities(name, matter)}

    @staticmethod
    def _about(text: str, found: Grades, minimum: int = MIN_ABOUT_ENTITY) -> Candidates:
        if sum(grade == ABOUT for grade in found.values()) >= minimum:
            yield text, found, Filters()

    def _reference(self, person: Person) -> str:
        """Returns the first name, nickname, unaccented, misspelt or, most often, full name of a person."""
        form = self.rng.random()
        if person.first_is_unique and form < 0.45:
            return person.first
        if form < 0.25:
            return person.nick
        if form < 0.35:
            return people.plain(person.name)
        return _misspelt(person.name, self.rng) if form < 0.4 else person.name

    def _form(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.questions[kind]), self.rng, **slots)

    def _round(self, elements: Sequence[T], times: int) -> Iterator[T]:
        for _ in range(times):
            yield from self.rng.sample(elements, len(elements))


def _misspelt(name: str, rng: Random) -> str:
    """Returns the name with two adjacent letters near its end transposed."""
    place = len(name) - rng.randint(2, 4)
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]
