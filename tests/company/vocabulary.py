"""Loads the names, topics and sentence templates from which a company is generated."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True, slots=True)
class Matter:
    """A subject within a topic. The first of its `facts` answers `ask`; `words` is the keyword form of `ask`."""

    name: str
    ask: str
    words: str
    tasks: tuple[str, ...]
    facts: tuple[str, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class Topic:
    """A field of work and the team responsible for it."""

    name: str
    team: str
    team_alias: str
    roles: tuple[str, ...]
    matters: tuple[Matter, ...]


@dataclass(frozen=True, slots=True)
class ProjectName:
    """A project's name and alias, and a sentence that uses the name as a common noun."""

    name: str
    alias: str
    everyday: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words. `first` pairs each first name with its nickname or an empty string."""

    first: tuple[tuple[str, str], ...]
    last: tuple[str, ...]
    sites: tuple[str, ...]
    skills: tuple[str, ...]
    projects: tuple[ProjectName, ...]
    topics: tuple[Topic, ...]
    phrases: dict[str, tuple[str, ...]]
    titles: dict[str, tuple[str, ...]]
    questions: dict[str, tuple[str, ...]]
    incidental: dict[str, tuple[str, ...]]


@cache
def load() -> Vocabulary:
    """Returns all words."""
    names, topics = _read("names.toml"), _read("topics.toml")
    phrases = {name: tuple(value) for name, value in names.items() if name not in _OTHERS}
    return Vocabulary(
        first=tuple((name, nick) for name, _, nick in (word.partition("/") for word in names["first"].split())),
        last=tuple(names["last"].split()),
        sites=tuple(names["sites"]),
        skills=tuple(names["skills"]),
        projects=tuple(ProjectName(*project) for project in names["projects"]),
        topics=tuple(_topic(topic) for topic in topics["topics"]),
        phrases=phrases,
        titles={name: tuple(value) for name, value in names["titles"].items()},
        questions={name: tuple(value) for name, value in names["questions"].items()},
        incidental={name: tuple(value) for name, value in names["incidental"].items()},
    )


_OTHERS = frozenset({"first", "last", "sites", "skills", "projects", "titles", "questions", "incidental"})


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def _topic(row: dict[str, Any]) -> Topic:
    matters = tuple(
        Matter(each["name"], each["ask"], each["words"], tuple(each["tasks"]), tuple(each["facts"]), row["name"])
        for each in row["matters"]
    )
    team, alias = row["team"]
    return Topic(row["name"], team, alias, tuple(row["roles"]), matters)


def date(when: datetime) -> str:
    """Returns a date in the form "3 May 2025"."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def filled(template: str, rng: Random, **slots: str) -> str:
    """Returns the template with its slots filled: number, day, month and year at random, the others as given."""
    drawn = {
        "n": str(rng.randint(3, 48)),
        "day": rng.choice(DAYS),
        "month": rng.choice(MONTHS),
        "year": str(rng.randint(2009, 2023)),
    }
    sentence = template.format_map({**drawn, **slots})
    return sentence[:1].upper() + sentence[1:]
