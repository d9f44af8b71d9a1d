"""With which words is a company made up?

Each half has two files of its own, and the halves share no name, topic or sentence: what is learnt on one does not help
on the other.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

Half = Literal["train", "test"]

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True, slots=True)
class Matter:
    """Something that several people deal with: `ask` is answered by the first of its `facts`."""

    name: str
    ask: str
    words: str
    tasks: tuple[str, ...]
    facts: tuple[str, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class Topic:
    """A field of work with the team that is in charge of it."""

    name: str
    team: str
    team_alias: str
    roles: tuple[str, ...]
    matters: tuple[Matter, ...]


@dataclass(frozen=True, slots=True)
class ProjectName:
    """A project's name and alias, and a sentence that uses the name as an ordinary word."""

    name: str
    alias: str
    everyday: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words of one half. A first name stands with its nickname, or with an empty one."""

    first: tuple[tuple[str, str], ...]
    last: tuple[str, ...]
    sites: tuple[str, ...]
    skills: tuple[str, ...]
    projects: tuple[ProjectName, ...]
    topics: tuple[Topic, ...]
    phrases: dict[str, tuple[str, ...]]
    titles: dict[str, tuple[str, ...]]
    questions: dict[str, tuple[str, ...]]


@cache
def of(half: Half) -> Vocabulary:
    """The words of one half."""
    cast, topics = _read(f"{half}_cast.toml"), _read(f"{half}_topics.toml")
    phrases = {name: tuple(value) for name, value in cast.items() if name not in _OTHERS}
    return Vocabulary(
        first=tuple((name, nick) for name, _, nick in (word.partition("/") for word in cast["first"].split())),
        last=tuple(cast["last"].split()),
        sites=tuple(cast["sites"]),
        skills=tuple(cast["skills"]),
        projects=tuple(ProjectName(*project) for project in cast["projects"]),
        topics=tuple(_topic(topic) for topic in topics["topics"]),
        phrases=phrases,
        titles={name: tuple(value) for name, value in cast["titles"].items()},
        questions={name: tuple(value) for name, value in cast["questions"].items()},
    )


_OTHERS = frozenset({"first", "last", "sites", "skills", "projects", "titles", "questions"})


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
    """A date as people write it: 3 May 2025."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def filled(template: str, rng: Random, **slots: str) -> str:
    """A sentence with its slots filled: numbers, days, months and years at random, the others as given."""
    chance = {
        "n": str(rng.randint(3, 48)),
        "day": rng.choice(DAYS),
        "month": rng.choice(MONTHS),
        "year": str(rng.randint(2009, 2023)),
    }
    sentence = template.format_map({**chance, **slots})
    return sentence[:1].upper() + sentence[1:]
