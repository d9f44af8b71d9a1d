"""Entity guidance by default harms no type of question of a fictional company, and helps those about its entities.

The vectors are those of words, and every second question is asked; `make faults` embeds the 400 documents with the
offline model, and asks them all.
"""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from harness import COMPANY, Tenant

from app.database.transactions import Database
from app.evaluation import beir, metrics, runner
from app.evaluation.runner import Strategy
from app.models.protocols import Embedder
from app.services import Services
from benchmarks.fake_embedder import FakeEmbedder

FULL = os.environ.get("STEPWELL_FAULTS") == "full"
ABOUT_ENTITIES = ("person", "project", "team")
LEAST_GAIN = 0.12
MOST_LOSS = 0.003
RESAMPLES = 2_000
TENANT = runner.Tenant.of("company")

Differences = Mapping[str, Sequence[float]]


@pytest.fixture(scope="module")
def embedder(offline_embedder: Embedder) -> Embedder:
    return offline_embedder if FULL else FakeEmbedder()


@pytest.fixture(scope="module")
async def differences(database: Database, embedder: Embedder) -> Differences:
    """nDCG@10 by default minus nDCG@10 unguided, of each question by type."""
    world = beir.load(COMPANY)
    services = Tenant(database, embedder=embedder).services()
    await runner.run(replace(world, questions=()), Strategy("auto"), TENANT, services=services)
    found = defaultdict(list)
    for question in world.questions[:: 1 if FULL else 2]:
        guided, flat = [await _ndcg(question, mode, services) for mode in ("auto", "flat")]
        found[question.kind].append(guided - flat)
    return found


async def _ndcg(question: beir.JudgedQuestion, mode: Any, services: Services) -> float:
    answer = await runner.answer(question.text, Strategy(mode), TENANT.user_id, services, filters=question.filters)
    return metrics.ndcg(runner.rank_documents(answer), question.relevant, 10)


def upper_bound(values: Sequence[float]) -> float:
    """The upper end of the 95 % confidence interval of the mean, by a paired bootstrap."""
    samples = np.random.default_rng(7).choice(values, size=(RESAMPLES, len(values)))
    return float(np.quantile(samples.mean(axis=1), 0.975))


async def test_no_type_of_question_loses_significantly(differences: Differences) -> None:
    assert {kind: values for kind, values in differences.items() if upper_bound(values) < 0} == {}


async def test_the_mean_of_all_other_questions_stays(differences: Differences) -> None:
    others = [value for kind, values in differences.items() if kind not in ABOUT_ENTITIES for value in values]
    assert np.mean(others) >= -MOST_LOSS


@pytest.mark.parametrize("kind", ABOUT_ENTITIES)
async def test_questions_about_entities_gain(differences: Differences, kind: str) -> None:
    assert np.mean(differences[kind]) >= LEAST_GAIN
