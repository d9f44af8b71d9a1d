"""Generates the company's evaluation set for entity-guided search, deterministically from its arguments.

The set has people, projects and teams, their notes, mails, meetings and reports, and questions of seven types. Flat
search can find every document. What makes the set hard: people who share a first name, nicknames, people mentioned
in passing, identical wording about different people, and work whose owner is named in the metadata only.
"""

from __future__ import annotations

from random import Random

from app.evaluation import beir
from company import documents as company_documents
from company import incidental, people, vocabulary
from company import questions as company_questions


def build(
    *,
    documents: int,
    questions: int,
    seed: int = 0,
    incidental_names: bool = False,
) -> beir.EvaluationSet:
    """Returns the set; equal arguments give an equal set in every process.

    `questions` is the maximum for each type; a set of few documents has fewer. `incidental_names` adds names that
    questions are not about (`incidental.py`); texts and the seven types stay the same.
    """
    rng = Random(f"test {seed}")
    words = vocabulary.load()
    company = people.generate(words, documents, rng)
    drafts = company_documents.generate(company, documents, rng)
    entities = people.entities(company)
    asked = company_questions.generate(words, company, drafts, questions, rng)
    if incidental_names:
        names = incidental.draw(words, company, rng)
        incidental.annotate(drafts, names, rng)
        entities += names.entities()
        asked += incidental.questions(words, company, drafts, names, questions, rng)
        incidental.annotate_harshly(drafts, asked, rng)
    return beir.EvaluationSet(
        documents=tuple(draft.upload() for draft in drafts),
        questions=tuple(asked),
        skipped=0,
        entities=tuple(entities),
    )
