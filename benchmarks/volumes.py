"""Measures flat and multi-hop search on documents bound into volumes.

The evaluation sets have no headings. Here a set's documents are bound in random order into volumes, each under its
title as a heading; with parts, each section is split under two headings that occur in many sections ("Career",
"History"). A ranking consists of the documents from whose sections the hits come.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from app.evaluation import beir, runner
from app.evaluation.runner import Strategy
from app.pipelines.documents import ingest
from app.pipelines.running.services import Services
from app.shapes import Answer, Candidate, Upload
from app.text.structure import structure

PART_HEADINGS = (
    *("History", "Career", "Early life", "Background", "Production", "Plot", "Reception", "Geography", "Personal life"),
    *("Legacy", "Overview", "Awards", "Members", "Biography", "Later years", "Release", "Track listing", "Cast"),
    *("Notable people", "Climate", "Follow-up", "Context", "Discography", "Demographics", "Economy", "Education"),
    *("In popular culture", "Death", "Design", "Decision", "Critical response"),
)
"""Frequent headings, drawn by a Pareto distribution."""
STRATEGIES = (Strategy("flat"), Strategy("multihop"))


@dataclass(frozen=True, slots=True)
class Binding:
    """How volumes are made: sections per volume, whether sections are split in parts, and the random seed."""

    size: int = 8
    parts: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class BoundSet:
    """The volumes, and the set's documents by (volume, heading)."""

    volumes: tuple[Upload, ...]
    sections: dict[tuple[str, str], list[str]]


def bind(loaded: beir.EvaluationSet, binding: Binding) -> BoundSet:
    """Binds a set's documents into volumes, deterministically by the seed."""
    rng = random.Random(binding.seed)
    shuffled = list(loaded.documents)
    rng.shuffle(shuffled)
    volumes, sections = [], defaultdict(list)
    for number, start in enumerate(range(0, len(shuffled), binding.size), 1):
        uri, texts = f"volume-{number}", [f"# Volume {number}"]
        for upload in shuffled[start : start + binding.size]:
            heading = structure.blocks(f"## {upload.title or upload.uri}")[0].title
            sections[uri, heading].append(str(upload.uri))
            texts += [f"## {heading}", _split(upload.content, rng) if binding.parts else upload.content]
        volumes.append(Upload("\n\n".join(texts), f"Volume {number}", uri))
    return BoundSet(tuple(volumes), dict(sections))


def _split(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    first, second = (PART_HEADINGS[min(int(rng.paretovariate(0.7)) - 1, len(PART_HEADINGS) - 1)] for _ in range(2))
    middle = len(words) // 2
    return f"### {first}\n\n{' '.join(words[:middle])}\n\n### {second}\n\n{' '.join(words[middle:])}"


def ranked(found: Answer, bound: BoundSet) -> list[str]:
    """Returns the documents whose sections contain the hits, in the order of their first hit."""
    return list(dict.fromkeys(document for hit in found.hits for document in _documents(hit.candidate, bound)))


def _documents(chunk: Candidate, bound: BoundSet) -> list[str]:
    inside = (block.title for block in structure.blocks(chunk.content) if block.kind == "heading")
    headings = (*chunk.heading_path, *inside)
    return [document for heading in headings for document in bound.sections.get((str(chunk.uri), heading), ())]


async def measure(
    loaded: beir.EvaluationSet, bound: BoundSet, user_id: str, services: Services
) -> dict[str, dict[str, float]]:
    """Stores the volumes, asks the set's questions and returns the averaged metrics by mode."""
    outcomes = ingest.many(bound.volumes, user_id, services)
    async for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    means: dict[str, dict[str, float]] = {}
    for strategy in STRATEGIES:
        rankings = []
        for question in loaded.questions:
            query = strategy.query(question.text, user_id, services)
            rankings.append(ranked(await runner.answer(query, strategy, services), bound))
        means[strategy.mode] = runner.averages(rankings, loaded.questions)
    return means
