"""What would a small company's documents be, if it were known which of them answer a question about whom?

A generated set for entity-guided search: people, projects and teams, their notes, mails, meetings and reports, and
questions of seven types. Every document can be found by flat search; the difficulty lies in namesakes, nicknames,
people named in passing, the same words said of others, and work whose owner stands in the metadata alone.
"""

from __future__ import annotations

from random import Random

from app.proof import beir
from app.proof.world import asking, cast, vocabulary, writing
from app.proof.world.vocabulary import Half

DOCUMENTS, QUESTIONS = 2000, 50
TYPES = ("person", "project", "team", "topic_person", "topic", "keyword", "date")
ENTITY_TYPES = TYPES[:4]
"""The types of questions that name a person, a project or a team."""


def build(half: Half, *, documents: int = DOCUMENTS, questions: int = QUESTIONS, seed: int = 0) -> beir.EvaluationSet:
    """The set of one half: the same for the same arguments, in every process.

    `questions` is the most of each type; a world of few documents has fewer.
    """
    rng = Random(f"{half} {seed}")
    words = vocabulary.of(half)
    company = cast.of(words, documents, rng)
    written = writing.documents(half, company, documents, rng)
    return beir.EvaluationSet(
        documents=tuple(each.upload() for each in written),
        questions=tuple(asking.questions(words, company, written, questions, rng)),
        skipped=0,
        entities=tuple(cast.entities(company)),
    )
