"""Gives the documents of an evaluation set random authors, teams and tags, on request vendors, clients and others too.

At the level `plain` they are common names, teams of an office and frequent words of the documents. At `harsh` they are
names and words of the set's questions, so that every question names entities that have nothing to do with its answer.
Fields that a document has already stay.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from app.evaluation.beir import EvaluationSet
from app.text.words import stop_words

Level = Literal["none", "plain", "harsh"]

FIRST = (
    *("James", "Mary", "Robert", "Patricia", "John", "Jennifer", "Michael", "Linda", "David", "Elizabeth", "William"),
    *("Barbara", "Richard", "Susan", "Joseph", "Jessica", "Thomas", "Karen", "Charles", "Sarah", "Daniel", "Nancy"),
)
LAST = (
    *("Smith", "Johnson", "Williams", "Brown", "Jones", "Miller", "Davis", "Wilson", "Anderson", "Taylor", "Thomas"),
    *("Moore", "Jackson", "Martin", "Lee", "Thompson", "White", "Harris", "Clark", "Lewis", "Young", "King", "Hill"),
)
TEAMS = (
    *("Support", "Platform", "Operations", "Research", "Finance", "Design", "Legal", "Marketing", "Security", "Sales"),
    *("Field Service", "Customer Care", "Data Platform", "Human Resources", "Quality Control", "Public Affairs"),
)
AUTHORS, TAGS = 60, 60
"""Different authors and tags of the level `plain`."""
TAGS_OF_DOCUMENT = 2
ORGANISATIONS = ("vendor", "client", "customer", "organisation", "company")
"""Keys whose values are drawn from the names of teams."""
_TAG = re.compile(r"[^\W\d_]{5,}")
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")


@dataclass(frozen=True, slots=True)
class Pools:
    """The names from which the metadata are drawn."""

    authors: Sequence[str]
    teams: Sequence[str]
    tags: Sequence[str]


def annotated(loaded: EvaluationSet, level: Level, *, seed: int = 0, with_organisations: bool = False) -> EvaluationSet:
    """Returns the set with random metadata in every document, deterministically by the seed.

    `with_organisations`: also with a vendor, client, customer, organisation, company and product.
    """
    if level == "none":
        return loaded
    rng = Random(f"{level} {seed}")
    pools = _of_offices(loaded, rng) if level == "plain" else _of_questions(loaded)
    authors, teams, tags = (_turns(pool, rng) for pool in (pools.authors, pools.teams, pools.tags))
    others = _organisations(pools, Random(f"{level} {seed} organisations")) if with_organisations else {}
    documents = []
    for upload in loaded.documents:
        drawn = {
            "author": next(authors, None),
            "team": next(teams, None),
            "tags": [*itertools.islice(tags, TAGS_OF_DOCUMENT)],
            **{key: next(names, None) for key, names in others.items()},
        }
        metadata = {**{name: value for name, value in drawn.items() if value}, **upload.metadata}
        documents.append(replace(upload, metadata=metadata))
    return replace(loaded, documents=tuple(documents))


def in_lower_case(loaded: EvaluationSet) -> EvaluationSet:
    """Returns the set with its questions in lower case."""
    return replace(loaded, questions=tuple(replace(one, text=one.text.lower()) for one in loaded.questions))


def _organisations(pools: Pools, rng: Random) -> dict[str, Iterator[str]]:
    products = [tag.title() for tag in pools.tags]
    return {**{key: _turns(pools.teams, rng) for key in ORGANISATIONS}, "product": _turns(products, rng)}


def _turns(pool: Sequence[str], rng: Random) -> Iterator[str]:
    """Yields the names in random order, again and again, so that all occur about equally often; nothing if empty."""
    while pool:
        yield from rng.sample(pool, len(pool))


def _of_offices(loaded: EvaluationSet, rng: Random) -> Pools:
    people = sorted({f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(AUTHORS)})
    words = Counter(word for upload in loaded.documents for word in set(_TAG.findall(upload.content)) if word.islower())
    frequent = sorted(filter(_is_distinctive, words), key=lambda word: (-words[word], word))
    return Pools(people, TEAMS, frequent[:TAGS])


def _of_questions(loaded: EvaluationSet) -> Pools:
    texts = [question.text for question in loaded.questions]
    authors = (names for text in texts for names in (capitalised(text) or pairs(text)[:1]))
    teams = (name.title() for text in texts for name in (*pairs(text), *_distinctive(text)))
    tags = (word.lower() for text in texts for word in _distinctive(text))
    return Pools(_different(authors), _different(teams), _different(tags))


def capitalised(text: str) -> list[str]:
    """Returns the runs of capitalised words, without function words and numbers at their start."""
    runs: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        if not match[0][0].isupper() or text[end : match.start()].strip():
            runs.append([])
        if match[0][0].isupper() and (runs[-1] or _is_distinctive(match[0])):
            runs[-1].append(match[0])
        end = match.end()
    return [" ".join(run) for run in runs if run]


def pairs(text: str) -> list[str]:
    """Returns the distinctive words that stand next to each other, capitalised, as a first and a last name."""
    pairs = itertools.pairwise(_WORD.findall(text))
    return [f"{one} {other}".title() for one, other in pairs if _is_distinctive(one) and _is_distinctive(other)]


def _distinctive(text: str) -> list[str]:
    return [word for word in _TAG.findall(text) if _is_distinctive(word)]


def _is_distinctive(word: str) -> bool:
    return word.lower() not in stop_words.FUNCTION_WORDS | stop_words.SENTENCE_WORDS and word.isalpha()


def _different(names: Iterable[str]) -> list[str]:
    return list({name.casefold(): name for name in names}.values())
