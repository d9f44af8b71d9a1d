"""Generates the company's documents and records what each is about.

A document names its person by the full name, a shared first name, a nickname, in the title only, or in the metadata
only. The same sentences are used about several people, and documents mention people, projects and teams that they are
not about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from app.documents.types import Upload
from company import vocabulary
from company.people import Company, Person, Project
from company.vocabulary import Matter, Vocabulary

START, SPAN_DAYS = datetime(2024, 1, 8, 8, tzinfo=UTC), 540
KINDS = {"work": 48, "meeting": 15, "report": 12, "page": 11, "bulletin": 14}
"""Document kinds in percent."""
PERSON_FORMS = {"full": 30, "first": 18, "nick": 17, "author": 28, "title": 7}
NAMED_FORMS = {"text": 36, "alias": 18, "metadata": 36, "title": 10}
IN_PROJECT = 0.4
FACT_AT_SITE = 0.6
"""Probability that a text states a matter's first fact, which answers the question about the matter."""
PASSING = {"person": 0.4, "project": 0.16, "team": 0.12, "everyday": 0.06}
LOGIN_IN_METADATA = 0.12
CASE = 0.12
"""Probability that a text opens a case; later texts repeat the case's code."""
ABOUT, TOUCHED = 2, 1
"""Relevance grades: the text is about the entity; the text mentions its involvement."""


@dataclass(slots=True)
class Draft:
    """A document under construction with relevance grades: `entities` by name, `matters` by name, `activities` by
    entity and matter. `facts` holds the (matter, site) pairs whose first fact the text states."""

    uri: str
    created_at: datetime
    site: str
    title: str = ""
    sentences: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    entities: dict[str, int] = field(default_factory=dict)
    matters: dict[str, int] = field(default_factory=dict)
    activities: dict[tuple[str, str], int] = field(default_factory=dict)
    facts: set[tuple[str, str]] = field(default_factory=set)
    code: str | None = None

    def upload(self) -> Upload:
        """Returns the document in the form that ingest accepts."""
        text = " ".join(self.sentences)
        return Upload(text, self.title, self.uri, self.metadata, created_at=self.created_at, markdown=False)

    def concerns(self, name: str, grade: int, *matters: Matter) -> None:
        """Records that the text concerns an entity and the entity's work on these matters."""
        self.entities[name] = max(grade, self.entities.get(name, 0))
        for matter in matters:
            self.activities[name, matter.name] = max(grade, self.activities.get((name, matter.name), 0))


def generate(company: Company, count: int, rng: Random) -> list[Draft]:
    """Returns `count` documents in the order of their dates."""
    writer = _Writer(vocabulary.load(), company, rng)
    dates = sorted(START + timedelta(minutes=rng.randrange(SPAN_DAYS * 1440)) for _ in range(count))
    return [writer.write(f"test-{place:05}", when) for place, when in enumerate(dates)]


class _Writer:
    """Writes the documents one by one; keeps the open cases and the rotation of authors."""

    def __init__(self, words: Vocabulary, company: Company, rng: Random) -> None:
        self.words, self.company, self.rng = words, company, rng
        self.people = {person.name: person for person in company.people}
        self.turns: dict[str, list[Any]] = defaultdict(list)
        self.cases: list[tuple[str, str]] = []

    def write(self, uri: str, when: datetime) -> Draft:
        kind = self._drawn(KINDS)
        draft = Draft(uri, when, self.rng.choice(self.words.sites), metadata={"kind": kind})
        {"work": self._work, "meeting": self._meeting, "report": self._report, "page": self._page}.get(
            kind, self._bulletin
        )(draft)
        self._finish(draft, kind)
        return draft

    def _work(self, draft: Draft) -> None:
        """Describes one person's work in the third or first person."""
        person = self._turn("work", self.company.people)
        project = self._project_of(person)
        matter = self.rng.choice(project.matters if project else person.matters)
        draft.site = project.site if project else person.site if self.rng.random() < 0.6 else draft.site
        draft.title = self._title("plain", matter=matter.name)
        self._whose(draft, person, matter)
        self._facts(draft, matter, self.rng.randint(2, 3), ABOUT)
        if project:
            self._in_project(draft, project, matter)

    def _whose(self, draft: Draft, person: Person, matter: Matter) -> None:
        form = self._drawn(PERSON_FORMS)
        tasks = self.rng.sample(matter.tasks, 2)
        who = {"full": person.name, "first": person.first, "nick": person.nick}.get(form)
        draft.sentences.append(self._say("third" if who else "own", who=who or "", task=tasks[0]))
        if self.rng.random() < 0.5:
            again = person.first if form == "full" else who or ""
            draft.sentences.append(self._say("third" if who else "own", who=again, task=tasks[1]))
        if form == "title":
            draft.title = self._title("person", who=person.name, matter=matter.name)
        if form in ("first", "author") or self.rng.random() < 0.3:
            draft.metadata["author"] = self._listed(person)
        draft.concerns(person.name, ABOUT, matter)

    def _in_project(self, draft: Draft, project: Project, matter: Matter) -> None:
        form = self._named(draft, "project", project.name, project.alias)
        if form == "title":
            title = self._title("project", project=project.name, matter=matter.name)
            named = any(name in draft.title for name in draft.entities)
            draft.title = f"{draft.title} ({project.name})" if named else title
        draft.concerns(project.name, ABOUT, matter)

    def _named(self, draft: Draft, kind: str, name: str, alias: str) -> str:
        """Names a project or team in the text, by alias, in the metadata or in the title; returns which."""
        form = self._drawn(NAMED_FORMS)
        if form in ("text", "alias"):
            draft.sentences.append(
                self._say(kind, **{kind: name if form == "text" else alias}, task=self._spare(draft))
            )
        if form == "metadata" or self.rng.random() < 0.2:
            draft.metadata[kind] = alias if self.rng.random() < LOGIN_IN_METADATA else name
        return form

    def _spare(self, draft: Draft) -> str:
        matter = next(iter(draft.matters), None)
        tasks = [task for each in self._matters() if each.name == matter for task in each.tasks]
        return self.rng.choice(tasks)

    def _meeting(self, draft: Draft) -> None:
        """Writes minutes of two or three items with an owner each; the metadata list the attendees."""
        team = self.rng.choice(self.company.teams)
        guests = [person.name for person in self.company.people if person.team != team.name]
        inside = self.rng.sample(team.members, min(len(team.members), self.rng.randint(2, 3)))
        present = [self.people[name] for name in (*inside, self.rng.choice(guests))]
        draft.title = self._title("meeting", topic=team.topic.name)
        owners = present[: self.rng.randint(2, 3)]
        matters: list[Matter] = []
        for owner in owners:
            matters.append(self.rng.choice([each for each in owner.matters if each not in matters]))
        for owner, matter in zip(owners, matters, strict=True):
            form = self._drawn({"full": 20, "first": 50, "nick": 12, "none": 18})
            who = {"full": owner.name, "first": owner.first, "nick": owner.nick}.get(form)
            draft.sentences.append(
                self._say("third" if who else "nobody", who=who or "", task=self.rng.choice(matter.tasks))
            )
            self._facts(draft, matter, self.rng.randint(1, 2), TOUCHED)
            draft.concerns(owner.name, ABOUT, matter)
        for person in present:
            draft.concerns(person.name, TOUCHED, *matters)
        draft.metadata["attendees"] = [self._listed(person) for person in present]

    def _report(self, draft: Draft) -> None:
        """Describes a team's work in the first person plural."""
        team = self._turn("report", self.company.teams)
        matters = self.rng.sample(team.topic.matters, 2)
        draft.title = self._title("plain", matter=matters[0].name)
        for matter in matters:
            draft.sentences.append(self._say("we", task=self.rng.choice(matter.tasks)))
            self._facts(draft, matter, self.rng.randint(1, 2), ABOUT if matter is matters[0] else TOUCHED)
        if self._named(draft, "team", team.name, team.alias) == "title":
            draft.title = self._title("team", team=team.name, matter=matters[0].name)
        draft.concerns(team.name, ABOUT, *matters)

    def _page(self, draft: Draft) -> None:
        """Describes a matter without naming a person."""
        matter = self._turn("page", self._matters())
        draft.title = self._title("page", matter=matter.name)
        self._facts(draft, matter, 3, ABOUT)

    def _bulletin(self, draft: Draft) -> None:
        """Writes news about a matter that mentions an unrelated person."""
        matter = self.rng.choice(self._matters())
        draft.title = self._title("bulletin", matter=matter.name)
        draft.sentences.append(self._say("nobody", task=self.rng.choice(matter.tasks)))
        self._facts(draft, matter, 2, ABOUT)
        draft.sentences.append(self._say("passing", who=self.rng.choice(self.company.people).name))

    def _facts(self, draft: Draft, matter: Matter, count: int, grade: int) -> None:
        chosen = self.rng.sample(matter.facts[1:], min(count, len(matter.facts) - 1))
        if self.rng.random() < FACT_AT_SITE:
            chosen[0] = matter.facts[0]
            draft.facts.add((matter.name, draft.site))
        self.rng.shuffle(chosen)
        draft.sentences += [vocabulary.filled(fact, self.rng, site=draft.site) for fact in chosen]
        draft.matters[matter.name] = max(grade, draft.matters.get(matter.name, 0))

    def _finish(self, draft: Draft, kind: str) -> None:
        """Adds the date, unrelated mentions, a case code and filler sentences."""
        self._case(draft)
        passing = [name for name, chance in PASSING.items() if self.rng.random() < chance]
        draft.sentences += [self._in_passing(name, draft) for name in passing]
        draft.sentences += [
            vocabulary.filled(each, self.rng) for each in self.rng.sample(self.words.phrases["filler"], 2)
        ]
        if kind != "meeting":
            self.rng.shuffle(draft.sentences)
        draft.sentences.insert(0, self._say("dated", date=vocabulary.date(draft.created_at)))

    def _in_passing(self, kind: str, draft: Draft) -> str:
        if kind == "person":
            others = [person for person in self.company.people if person.name not in draft.entities]
            return self._say("passing", who=self.rng.choice(others or self.company.people).name)
        if kind == "project":
            return self._say("passing_project", project=self._other(self.company.projects, draft))
        if kind == "team":
            return self._say("passing_team", team=self._other(self.company.teams, draft))
        return self.rng.choice(self.company.projects).everyday

    def _other(self, named: Sequence[Any], draft: Draft) -> str:
        """Returns the name of a project or team that the draft is not about, if there is one."""
        return str(self.rng.choice([each for each in named if each.name not in draft.entities] or named).name)

    def _case(self, draft: Draft) -> None:
        matter = next(iter(draft.matters))
        known = [code for code, about in self.cases if about == matter]
        if known and self.rng.random() < 0.5 * CASE:
            draft.code = self.rng.choice(known)
        elif self.rng.random() < CASE:
            draft.code = f"{matter.split()[-1][:2].upper()}-{len(self.cases) * 7 + 1013}"
            self.cases.append((draft.code, matter))
        if draft.code:
            draft.sentences.append(self._say("code", code=draft.code))

    def _project_of(self, person: Person) -> Project | None:
        mine = [project for project in self.company.projects if person.name in project.members]
        return self.rng.choice(mine) if mine and self.rng.random() < 2 * IN_PROJECT else None

    def _listed(self, person: Person) -> str:
        return person.login if self.rng.random() < LOGIN_IN_METADATA else person.name

    def _turn(self, kind: str, elements: Sequence[Any]) -> Any:
        """Returns the next element of a shuffled rotation, so that all occur about equally often."""
        if not self.turns[kind]:
            self.turns[kind] = self.rng.sample(elements, len(elements))
        return self.turns[kind].pop()

    def _matters(self) -> list[Matter]:
        return [matter for topic in self.company.topics for matter in topic.matters]

    def _drawn(self, shares: dict[str, int]) -> str:
        return self.rng.choices(list(shares), list(shares.values()))[0]

    def _title(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.titles[kind]), self.rng, **slots)

    def _say(self, kind: str, **slots: str) -> str:
        return vocabulary.filled(self.rng.choice(self.words.phrases[kind]), self.rng, **slots)
