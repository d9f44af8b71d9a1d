"""Asks evaluation sets their own questions and others, and keeps in a file what relevance is computed from."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from app.evaluation import beir, runner
from app.evaluation.beir import EvaluationSet
from app.evaluation.runner import ASSESSED_HITS, Strategy, Tenant
from app.query import fused_scores
from app.query.types import Answer, Hit
from app.relevance.relevance import MeanEffect
from app.services import Services

Kind = Literal["own", "foreign", "unanswerable"]
"""A question of the set, of another set, or one of the same kind that the set does not answer."""
MODES: dict[str, Strategy] = {
    "flat": Strategy("flat"),
    "auto": Strategy("auto"),
    "thorough": Strategy("multihop"),
    "semantic": Strategy("semantic"),
    "lexical": Strategy("lexical"),
}
UNANSWERABLE = "unanswerable"
"""A folder in that of a set, with questions that its documents do not answer."""
SEED = 1


@dataclass(frozen=True, slots=True)
class Question:
    """The first hits of a question, best first: the score that orders each, and whether it is relevant.

    `cosine` and `coverage` are the best ones of the query. `over_hops`: the scores are sums of signals as shares of the
    largest one; otherwise they are on the scale of the convex fusion.
    """

    kind: Kind
    scores: Sequence[float]
    relevant: Sequence[bool]
    cosine: float
    coverage: float
    over_hops: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """The questions that one set was asked in one mode."""

    name: str
    mode: str
    questions: Sequence[Question]

    def of(self, kind: Kind) -> list[Question]:
        """The questions of a kind."""
        return [question for question in self.questions if question.kind == kind]


async def collect(folders: Sequence[Path], services: Services) -> list[Sample]:
    """Stores the sets and asks each its own questions, as many of others, and those without an answer."""
    chance = random.Random(SEED)
    sets = {folder: beir.load(folder) for folder in folders}
    samples = []
    for folder, loaded in sets.items():
        tenant = Tenant.of(str(folder))
        await runner.run(replace(loaded, questions=()), MODES["flat"], tenant, services=services)
        others = [question.text for other, found in sets.items() if other != folder for question in found.questions]
        foreign = chance.sample(others, min(len(others), len(loaded.questions)))
        asked = list(_asked(folder, loaded, foreign))
        for mode, strategy in MODES.items():
            questions = [await _question(one, strategy, tenant, services) for one in asked]
            samples.append(Sample(folder.name, mode, [one for one in questions if one is not None]))
    return samples


Asked = tuple[Kind, str, Mapping[str, int]]


def _asked(folder: Path, loaded: EvaluationSet, foreign: Sequence[str]) -> Iterator[Asked]:
    for question in loaded.questions:
        yield "own", question.text, question.relevant
    for text in foreign:
        yield "foreign", text, {}
    if (folder / UNANSWERABLE).is_dir():
        for question in beir.read_questions(folder / UNANSWERABLE):
            yield "unanswerable", question.text, {}


async def _question(asked: Asked, strategy: Strategy, tenant: Tenant, services: Services) -> Question | None:
    """What a question finds; None if it finds nothing, or nothing is known of its hits."""
    kind, text, grades = asked
    answer = await runner.answer(text, strategy, tenant.user_id, services, explain=True)
    known = (answer.explain or {}).get("relevance")
    hits = answer.hits[:ASSESSED_HITS]
    if not hits or known is None:
        return None
    over_hops = any(set((hit.explain or {}).get("parts", {})) - {"fused"} for hit in hits)
    return Question(
        kind,
        [_score(hit, answer, over_hops=over_hops) for hit in hits],
        [grades.get(str(hit.candidate.uri), 0) > 0 for hit in hits],
        known["best_cosine"] or 0.0,
        known["best_coverage"] or 0.0,
        over_hops,
    )


def _score(hit: Hit, answer: Answer, *, over_hops: bool) -> float:
    """The score of a hit as relevance takes it."""
    if over_hops:
        return float((hit.combined_score or 0.0) / (hit.explain or {})["best"])
    entities = MeanEffect(**(answer.explain or {})["relevance"]["entities"])
    return entities.removed(hit.candidate.score ** fused_scores.EXPONENTS[answer.fusion or "convex"])


def save(samples: Sequence[Sample], file: Path) -> None:
    """Writes samples, one a line."""
    file.write_text("".join(json.dumps(asdict(sample)) + "\n" for sample in samples), encoding="utf-8")


def load(file: Path) -> list[Sample]:
    """Reads the samples that `save` has written."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Sample(row["name"], row["mode"], [Question(**question) for question in row["questions"]]) for row in rows]
