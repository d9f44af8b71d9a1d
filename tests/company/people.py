"""Generates the company's people, teams and projects, with their names and aliases.

Several people share a first name. A nickname is an alias only if it identifies one person.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from company.vocabulary import Matter, Topic, Vocabulary

DOCUMENTS_A_PERSON, DOCUMENTS_A_PROJECT, PEOPLE_A_TEAM = 18, 70, 6
FIRST_AS_ALIAS = 0.7
"""Probability that a unique first name is listed among the aliases."""
UNFOLDED = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "ı": "i", "'": ""})


@dataclass(frozen=True, slots=True)
class Person:
    """A person and the matters they work on; `nick` and `login` are unique aliases."""

    name: str
    first: str
    nick: str
    login: str
    first_is_unique: bool
    aliases: tuple[str, ...]
    role: str
    team: str
    site: str
    matters: tuple[Matter, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Team:
    """A team with its topic and its members' names."""

    name: str
    alias: str
    topic: Topic
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """A project at one site on two matters; the first of its members leads it."""

    name: str
    alias: str
    everyday: str
    site: str
    matters: tuple[Matter, ...]
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Company:
    """All people, teams and projects."""

    people: tuple[Person, ...]
    teams: tuple[Team, ...]
    projects: tuple[Project, ...]

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics of all teams."""
        return tuple(team.topic for team in self.teams)


def generate(words: Vocabulary, documents: int, rng: Random) -> Company:
    """Returns a company of a size that fits the number of documents."""
    count = max(8, min(documents // DOCUMENTS_A_PERSON, len(words.first) * len(words.last) // 8))
    topics = rng.sample(words.topics, max(2, min(len(words.topics), count // PEOPLE_A_TEAM)))
    people = _people(words, topics, count, rng)
    teams = tuple(
        Team(topic.team, topic.team_alias, topic, tuple(each.name for each in people if each.team == topic.team))
        for topic in topics
    )
    wanted = max(2, min(len(words.projects), documents // DOCUMENTS_A_PROJECT))
    projects = tuple(
        _project(words, place, teams, people, rng) for place in rng.sample(range(len(words.projects)), wanted)
    )
    return Company(people, teams, projects)


def plain(name: str) -> str:
    """Returns the name without accents."""
    return unicodedata.normalize("NFKD", name.translate(UNFOLDED)).encode("ascii", "ignore").decode()


def _people(words: Vocabulary, topics: Sequence[Topic], count: int, rng: Random) -> tuple[Person, ...]:
    names: dict[str, tuple[str, str, str]] = {}
    while len(names) < count:
        (first, nick), last = rng.choice(words.first), rng.choice(words.last)
        names[f"{first} {last}"] = (first, nick, last)
    bearers = Counter(first for first, _, _ in names.values())
    taken: set[str] = set()
    return tuple(
        _person(
            name, parts, topics, topics[place % len(topics)], words, unique=bearers[parts[0]] == 1, taken=taken, rng=rng
        )
        for place, (name, parts) in enumerate(names.items())
    )


def _person(
    name: str,
    parts: tuple[str, str, str],
    topics: Sequence[Topic],
    topic: Topic,
    words: Vocabulary,
    *,
    unique: bool,
    taken: set[str],
    rng: Random,
) -> Person:
    first, nick, last = parts
    login = _login(first, last, taken)
    short = _short(first, nick if unique else "", nick, last, taken)
    listed = [short, login] + [first] * (unique and rng.random() < FIRST_AS_ALIAS)
    other = rng.choice([each for each in topics if each is not topic])
    matters = (*rng.sample(topic.matters, 3), rng.choice(other.matters))
    facts = (*(f"Looks after {matter.name}." for matter in matters[:2]), rng.choice(words.skills))
    return Person(
        name=name,
        first=first,
        nick=short,
        login=login,
        first_is_unique=unique,
        aliases=tuple(listed),
        role=rng.choice(topic.roles),
        team=topic.team,
        site=rng.choice(words.sites),
        matters=matters,
        facts=tuple(fact.format(year=rng.randint(2009, 2023)) for fact in facts),
    )


def _short(first: str, alone: str, nick: str, last: str, taken: set[str]) -> str:
    """Returns the first unused of: the nickname, nickname and last name, initial and last name."""
    initials = (f"{first[:letters]}. {last}" for letters in range(1, len(first)))
    free = (each for each in (alone, f"{nick} {last}" if nick else "", *initials) if each and each not in taken)
    short = next(free, f"{first} {last}")
    taken.add(short)
    return short


def _login(first: str, last: str, taken: set[str]) -> str:
    plainly = (plain(first)[0] + plain(last)).lower()
    login = next(each for n in range(1, 1000) if (each := f"{plainly}{n if n > 1 else ''}") not in taken)
    taken.add(login)
    return login


def _project(words: Vocabulary, place: int, teams: Sequence[Team], people: Sequence[Person], rng: Random) -> Project:
    called, team = words.projects[place], rng.choice(teams)
    inside = rng.sample(team.members, min(4, len(team.members)))
    outside = [person.name for person in people if person.team != team.name]
    matters = tuple(rng.sample(team.topic.matters, 2))
    members = (*inside, *rng.sample(outside, min(2, len(outside))))
    return Project(called.name, called.alias, called.everyday, rng.choice(words.sites), matters, members)


def entities(company: Company) -> list[dict[str, Any]]:
    """Returns all entities as bodies of `POST /api/rag/entities`; teams follow the members that they name."""
    return [
        *(_person_entity(person) for person in company.people),
        *(_project_entity(project) for project in company.projects),
        *(_team_entity(team) for team in company.teams),
    ]


def _person_entity(person: Person) -> dict[str, Any]:
    return {
        "type": "person",
        "name": person.name,
        "aliases": list(person.aliases),
        "role": person.role,
        "facts": list(person.facts),
        "description": f"{person.name} works as {person.role} in the team {person.team}.",
        "metadata": {"site": person.site},
        "members": [],
    }


def _project_entity(project: Project) -> dict[str, Any]:
    about = " and ".join(matter.name for matter in project.matters)
    return {
        "type": "project",
        "name": project.name,
        "aliases": [project.alias],
        "role": None,
        "facts": [f"Led by {project.members[0]}.", f"Takes place in {project.site}."],
        "description": f"The project {project.name} deals with {about}.",
        "metadata": {"site": project.site},
        "members": [],
    }


def _team_entity(team: Team) -> dict[str, Any]:
    return {
        "type": "team",
        "name": team.name,
        "aliases": [team.alias],
        "role": None,
        "facts": [f"In charge of {matter.name}." for matter in team.topic.matters],
        "description": f"The team {team.name} is responsible for {team.topic.name}.",
        "metadata": {},
        "members": list(team.members),
    }
