"""The coefficients of relevance are fitted to the sets that are not measured, from features that a file keeps."""

from __future__ import annotations

import math
import random

import pytest

from app.relevance import logit_scales, relevance
from benchmarks.relevance import features, figures, fitting
from benchmarks.relevance.features import Kind, Question, Sample

SCORES = [1.0, 0.8, 0.5, 0.3, 0.1]


def question(kind: Kind, dice: random.Random, *, shift: float, over_hops: bool) -> Question:
    """A question whose hits are relevant by a known function of their scores, and never without an answer."""
    slope = 3.0 if over_hops else 1.2
    cosine = dice.uniform(0.5, 0.9) if kind == "own" else dice.uniform(0.1, 0.5)
    logits = [-1.5 + shift + slope * relevance.score_logit(score) for score in SCORES]
    relevant = [kind == "own" and dice.random() < logit_scales.logistic(logit) for logit in logits]
    return Question(kind, SCORES, relevant, cosine, 0.4, over_hops)


def sample(name: str, mode: str, *, shift: float = 0.0) -> Sample:
    dice = random.Random(f"{name} {mode}")
    kinds: list[Kind] = ["own"] * 60 + ["foreign"] * 30
    return Sample(name, mode, [question(kind, dice, shift=shift, over_hops=mode == "thorough") for kind in kinds])


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """Three sets, of which one has far more relevant hits than the others."""
    shifts = {"a": 0.0, "b": 0.0, "c": 2.5}
    return [sample(name, mode, shift=shift) for name, shift in shifts.items() for mode in features.MODES]


def test_the_fit_finds_the_function_that_made_the_judgements(samples: list[Sample]) -> None:
    model = fitting.fit([one for one in samples if one.name != "c"])
    assert model.hits["both"][1] == pytest.approx(1.2, abs=0.25)
    assert model.hits["hops"][1] == pytest.approx(3.0, abs=0.8)
    own, foreign = (samples[0].of(kind)[0] for kind in ("own", "foreign"))
    assert model.answerable(own, "flat") > 0.5 > model.answerable(foreign, "flat")
    assert max(model.relevance(foreign, "flat")) < max(model.relevance(own, "flat"))


def test_a_set_is_measured_with_the_coefficients_of_the_others_and_after_a_calibration(
    samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "DRAWS", 40)
    monkeypatch.setattr(figures, "SPLITS", 3)
    left_out = {name: found for name, _, found in figures.leave_one_out(samples)}
    for name in ("a", "b"):
        # Of 30 foreign questions in a mode; other draws of them give .02 to .26 in a mode, .05 to .17 over the modes.
        best_foreign = [found.rejected["foreign"][1] for found in left_out[name]]
        assert sum(best_foreign) / len(best_foreign) < 0.2
        for found in left_out[name]:
            low, high = found.own.gain
            assert low < found.own.calibration.base_brier - found.own.calibration.brier < high
            assert (found.answerable["foreign"].auroc or 0) > 0.95
    flat = left_out["c"][0]
    assert flat.judged.questions == figures.JUDGED
    assert flat.own.calibration.ece > 0.2
    assert flat.judged.ece < flat.own.calibration.ece / 3
    assert flat.judged.brier < flat.own.calibration.brier
    assert math.isclose(flat.judged.noise[0], sum(flat.judged.noise) / 2, rel_tol=0.5)
