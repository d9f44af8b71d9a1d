"""What was written in the made-up company, and what is each text about?

Somebody's work is told under the full name, a first name that namesakes share, a nickname, in the title alone, or not
at all: then the metadata say whose it is. The same sentences are said of others, and people, projects and teams are
named in passing where nothing is about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from app.proof.world import vocabulary
from app.proof.world.cast import Cast, Person, Project
from app.proof.world.vocabulary import Matter, Vocabulary
from app.shapes import Upload

START, SPAN_DAYS = datetime(2024, 1, 8, 8, tzinfo=UTC), 540
KINDS = {"work": 48, "meeting": 15, "report": 12, "page": 11, "bulletin": 14}
"""How many of a hundred documents are of which kind."""
PERSON_FORMS = {"full": 30, "first": 18, "nick": 17, "author": 28, "title": 7}
NAMED_FORMS = {"text": 36, "alias": 18, "metadata": 36, "title": 10}
IN_PROJECT = 0.4
FACT_AT_SITE = 0.6
"""Chance that a text tells a matter's first fact, which answers the question about it."""
PASSING = {"person": 0.4, "project": 0.16, "team": 0.12, "everyday": 0.06}
LOGIN_IN_METADATA = 0.12
CASE = 0.12
"""Chance that a text opens a case, whose code later texts repeat."""
ABOUT, TOUCHED = 2, 1
"""Grades: the text is about it; it takes part."""


@dataclass(slots=True)
class Written:
    """A document and what it is about: entities by name, matters, what an entity did about a matter, facts told."""

    uri: str
    created_at: datetime
    site: str
    title: str = ""
    sentences: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    entities: dict[str, int] = field(default_factory=dict)
    matters: dict[str, int] = field(default_factory=dict)
    deeds: dict[tuple[str, str], int] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    code: str | None = None

    def upload(self) -> Upload:
        """The document as it is ingested."""
        text = " ".join(self.sentences)
        return Upload(text, self.title, self.uri, self.metadata, created_at=self.created_at, markdown=False)

    def concerns(self, name: str, grade: int, *matters: Matter) -> None:
        """Note that it is about an entity, and about what that did for these matters."""
        self.entities[name] = max(grade, self.entities.get(name, 0))
        for matter in matters:
            self.deeds[name, matter.name] = max(grade, self.deeds.get((name, matter.name), 0))


def documents(half: vocabulary.Half, cast: Cast, count: int, rng: Random) -> list[Written]:
    """That many documents, in the order of their dates."""
    writer = _Writer(vocabulary.of(half), cast, rng)
    dates = sorted(START + timedelta(minutes=rng.randrange(SPAN_DAYS * 1440)) for _ in range(count))
    return [writer.write(f"{half}-{place:05}", when) for place, when in enumerate(dates)]


class _Writer:
    """Writes one document after the other; remembers the cases that were opened and whose turn it is."""

    def __init__(self, words: Vocabulary, cast: Cast, rng: Random) -> None:
        self.words, self.cast, self.rng = words, cast, rng
        self.people = {person.name: person for person in cast.people}
        self.turns: dict[str, list[Any]] = defaultdict(list)
        self.cases: list[tuple[str, str]] = []

    def write(self, uri: str, when: datetime) -> Written:
        kind = self._drawn(KINDS)
        sheet = Written(uri, when, self.rng.choice(self.words.sites), metadata={"kind": kind})
        {"work": self._work, "meeting": self._meeting, "report": self._report, "page": self._page}.get(
            kind, self._bulletin
        )(sheet)
        self._finish(sheet, kind)
        return sheet

    def _work(self, sheet: Written) -> None:
        """Somebody's work, told by others or in the first person."""
        person = self._turn("work", self.cast.people)
        project = self._project_of(person)
        matter = self.rng.choice(project.matters if project else person.matters)
        sheet.site = project.site if project else person.site if self.rng.random() < 0.6 else sheet.site
        sheet.title = self._title("plain", matter=matter.name)
        self._whose(sheet, person, matter)
        self._facts(sheet, matter, self.rng.randint(2, 3), ABOUT)
        if project:
            self._in_project(sheet, project, matter)

    def _whose(self, sheet: Written, person: Person, matter: Matter) -> None:
        form = self._drawn(PERSON_FORMS)
        tasks = self.rng.sample(matter.tasks, 2)
        who = {"full": person.name, "first": person.first, "nick": person.nick}.get(form)
        sheet.sentences.append(self._say("third" if who else "own", who=who or "", task=tasks[0]))
        if self.rng.random() < 0.5:
            again = person.first if form == "full" else who or ""
            sheet.sentences.append(self._say("third" if who else "own", who=again, task=tasks[1]))
        if form == "title":
            sheet.title = self._title("person", who=person.name, matter=matter.name)
        if form in ("first", "author") or self.rng.random() < 0.3:
            sheet.metadata["author"] = self._listed(person)
        sheet.concerns(person.name, ABOUT, matter)

    def _in_project(self, sheet: Written, project: Project, matter: Matter) -> None:
        form = self._named(sheet, "project", project.name, project.alias)
        if form == "title":
            told = self._title("project", project=project.name, matter=matter.name)
            named = any(name in sheet.title for name in sheet.entities)
            sheet.title = f"{sheet.title} ({project.name})" if named else told
        sheet.concerns(project.name, ABOUT, matter)

    def _named(self, sheet: Written, kind: str, name: str, alias: str) -> str:
        """Name a project or a team in one of the ways there are, and say in which."""
        form = self._drawn(NAMED_FORMS)
        if form in ("text", "alias"):
            sheet.sentences.append(
                self._say(kind, **{kind: name if form == "text" else alias}, task=self._spare(sheet))
            )
        if form == "metadata" or self.rng.random() < 0.2:
            sheet.metadata[kind] = alias if self.rng.random() < LOGIN_IN_METADATA else name
        return form

    def _spare(self, sheet: Written) -> str:
        matter = next(iter(sheet.matters), None)
        tasks = [task for each in self._matters() if each.name == matter for task in each.tasks]
        return self.rng.choice(tasks)

    def _meeting(self, sheet: Written) -> None:
        """Two or three items, each with its owner; the metadata list who was there."""
        team = self.rng.choice(self.cast.teams)
        guests = [person.name for person in self.cast.people if person.team != team.name]
        inside = self.rng.sample(team.members, min(len(team.members), self.rng.randint(2, 3)))
        present = [self.people[name] for name in (*inside, self.rng.choice(guests))]
        sheet.title = self._title("meeting", topic=team.topic.name)
        owners = present[: self.rng.randint(2, 3)]
        matters: list[Matter] = []
        for owner in owners:
            matters.append(self.rng.choice([each for each in owner.matters if each not in matters]))
        for owner, matter in zip(owners, matters, strict=True):
            form = self._drawn({"full": 20, "first": 50, "nick": 12, "none": 18})
            who = {"full": owner.name, "first": owner.first, "nick": owner.nick}.get(form)
            sheet.sentences.append(
                self._say("third" if who else "nobody", who=who or "", task=self.rng.choice(matter.tasks))
            )
            self._facts(sheet, matter, self.rng.randint(1, 2), TOUCHED)
            sheet.concerns(owner.name, ABOUT, matter)
        for person in present:
            sheet.concerns(person.name, TOUCHED, *matters)
        sheet.metadata["attendees"] = [self._listed(person) for person in present]

    def _report(self, sheet: Written) -> None:
        """What a team did, in its own words."""
        team = self._turn("report", self.cast.teams)
        matters = self.rng.sample(team.topic.matters, 2)
        sheet.title = self._title("plain", matter=matters[0].name)
        for matter in matters:
            sheet.sentences.append(self._say("we", task=self.rng.choice(matter.tasks)))
            self._facts(sheet, matter, self.rng.randint(1, 2), ABOUT if matter is matters[0] else TOUCHED)
        if self._named(sheet, "team", team.name, team.alias) == "title":
            sheet.title = self._title("team", team=team.name, matter=matters[0].name)
        sheet.concerns(team.name, ABOUT, *matters)

    def _page(self, sheet: Written) -> None:
        """What everybody should know about a matter."""
        matter = self._turn("page", self._matters())
        sheet.title = self._title("page", matter=matter.name)
        self._facts(sheet, matter, 3, ABOUT)

    def _bulletin(self, sheet: Written) -> None:
        """News about a matter, with more people named in passing than elsewhere."""
        matter = self.rng.choice(self._matters())
        sheet.title = self._title("bulletin", matter=matter.name)
        sheet.sentences.append(self._say("nobody", task=self.rng.choice(matter.tasks)))
        self._facts(sheet, matter, 2, ABOUT)
        sheet.sentences.append(self._say("passing", who=self.rng.choice(self.cast.people).name))

    def _facts(self, sheet: Written, matter: Matter, count: int, grade: int) -> None:
        chosen = self.rng.sample(matter.facts[1:], min(count, len(matter.facts) - 1))
        if self.rng.random() < FACT_AT_SITE:
            chosen[0] = matter.facts[0]
            sheet.told.add((matter.name, sheet.site))
        self.rng.shuffle(chosen)
        sheet.sentences += [vocabulary.filled(fact, self.rng, site=sheet.site) for fact in chosen]
        sheet.matters[matter.name] = max(grade, sheet.matters.get(matter.name, 0))

    def _finish(self, sheet: Written, kind: str) -> None:
        """The date, what is said in passing, a case's code, and what fills every text."""
        self._case(sheet)
        passing = [name for name, chance in PASSING.items() if self.rng.random() < chance]
        sheet.sentences += [self._in_passing(name, sheet) for name in passing]
        sheet.sentences += [
            vocabulary.filled(each, self.rng) for each in self.rng.sample(self.words.phrases["filler"], 2)
        ]
        if kind != "meeting":
            self.rng.shuffle(sheet.sentences)
        sheet.sentences.insert(0, self._say("dated", date=vocabulary.date(sheet.created_at)))

    def _in_passing(self, kind: str, sheet: Written) -> str:
        if kind == "person":
            others = [person for person in self.cast.people if person.name not in sheet.entities]
            return self._say("passing", who=self.rng.choice(others or self.cast.people).name)
        if kind == "project":
            return self._say("passing_project", project=self.rng.choice(self._others(self.cast.projects, sheet)).name)
        if kind == "team":
            return self._say("passing_team", team=self.rng.choice(self._others(self.cast.teams, sheet)).name)
        return self.rng.choice(self.cast.projects).everyday

    @staticmethod
    def _others(named: Sequence[Any], sheet: Written) -> Sequence[Any]:
        return [each for each in named if each.name not in sheet.entities] or named

    def _case(self, sheet: Written) -> None:
        matter = next(iter(sheet.matters))
        known = [code for code, about in self.cases if about == matter]
        if known and self.rng.random() < 0.5 * CASE:
            sheet.code = self.rng.choice(known)
        elif self.rng.random() < CASE:
            sheet.code = f"{matter.split()[-1][:2].upper()}-{len(self.cases) * 7 + 1013}"
            self.cases.append((sheet.code, matter))
        if sheet.code:
            sheet.sentences.append(self._say("code", code=sheet.code))

    def _project_of(self, person: Person) -> Project | None:
        mine = [project for project in self.cast.projects if person.name in project.members]
        return self.rng.choice(mine) if mine and self.rng.random() < 2 * IN_PROJECT else None

    def _listed(self, person: Person) -> str:
        return person.login if self.rng.random() < LOGIN_IN_METADATA else person.name

    def _turn(self, kind: str, all_of_them: Sequence[Any]) -> Any:
        """The next in a shuffled round, so that everybody gets about as much."""
        if not self.turns[kind]:
            self.turns[kind] = self.rng.sample(all_of_them, len(all_of_them))
        return self.turns[kind].pop()

    def _matters(self) -> list[Matter]:
        return [matter for topic in self.cast.topics for matter in topic.matters]

    def _drawn(self, shares: dict[str, int]) -> str:
        return self.rng.choices(list(shares), list(shares.values()))[0]

    def _title(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.titles[kind]), self.rng, **slots)

    def _say(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.phrases[kind]), self.rng, **slots)
