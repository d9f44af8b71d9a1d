"""The coefficients of relevance are fitted to the sets that are not measured, from what a file keeps."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path

import pytest

from app.relevance import logit_scales
from app.relevance import relevance as assessed
from benchmarks import relevance
from benchmarks.relevance import Kind, Question, Sample, Store

SCORES = [1.0, 0.8, 0.5, 0.3, 0.1]
COSINES: dict[Kind, tuple[float, float]] = {"own": (0.7, 0.9), "near": (0.3, 0.5), "far": (0.0, 0.3)}


def question(kind: Kind, dice: random.Random, *, over_hops: bool) -> Question:
    """A question whose hits are relevant by a known function of their scores, and never without an answer."""
    slope = 3.0 if over_hops else 1.2
    logits = [-1.5 + slope * assessed.score_logit(score) for score in SCORES]
    relevant = [kind == "own" and dice.random() < logit_scales.logistic(logit) for logit in logits]
    return Question(kind, "both", dice.uniform(*COSINES[kind]), 0.4, 0.5, False, SCORES, relevant, over_hops)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    kinds: dict[Store, list[Kind]] = {"whole": ["own"] * 80 + ["far"] * 40, "half": ["own"] * 40 + ["near"] * 40}
    dice = random.Random(3)
    return [
        Sample("model", name, store, mode, [question(kind, dice, over_hops=mode == "hops") for kind in kinds[store]])
        for name in ("a", "b", "c")
        for store in kinds
        for mode in relevance.MODES
    ]


def test_a_set_is_measured_without_its_own_questions(samples: list[Sample], tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in samples), "utf-8")
    known, turned = relevance.load([file]), []
    for one in known:
        wrong = [Question(**{**asdict(q), "relevant": [not value for value in q.relevant]}) for q in one.questions]
        turned.append(Sample(one.model, one.name, one.store, one.mode, wrong) if one.name == "c" else one)
    usual, changed = (
        {(row.name, row.mode): row for row in relevance.leave_out(of, models=False)} for of in (known, turned)
    )
    assert usual["c", "flat"].figures["relevance"].brier < usual["c", "flat"].figures["relevance"].base_brier
    assert changed["c", "flat"].figures["relevance"].brier > changed["c", "flat"].figures["relevance"].base_brier
    assert usual["a", "flat"].figures["answerable far"].auroc == pytest.approx(1.0, abs=0.02)
