"""Is every merged order the arithmetic that it says it is?"""

from __future__ import annotations

import math
import random
from uuid import UUID

import pytest

from app.ranking import merge
from app.ranking.merge import Hopped, Scored

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def test_classic_adds_its_bonuses_to_the_rrf_score() -> None:
    found = [Hopped(A, C, 1, 1 / 61), Hopped(B, D, 2, 1 / 61)]
    scores = merge.classic(found)
    assert scores[A].score == pytest.approx(1 / 61 + 0.0005 + 0.0002)
    assert scores[B].score == pytest.approx(1 / 61 + 0.0002)
    assert scores[A].parts == {"rrf": 1 / 61, "hop_1": 0.0005, "single_document": 0.0002}


def test_classic_knows_documents_that_appear_twice_and_chunks_that_two_hops_found() -> None:
    scores = merge.classic([Hopped(A, D, 2, 2 / 61), Hopped(A, D, 1, 1 / 61), Hopped(B, D, 1, 1 / 62)])
    assert scores[A].score == pytest.approx(1 / 61 + 0.0005)
    assert scores[B].score == pytest.approx(1 / 62 + 0.0005)
    assert merge.best_classic(2 / 61) == pytest.approx(2 / 61 + 0.0007)


def test_linked_is_a_weighted_sum_and_its_parts_add_up_to_it() -> None:
    signals = {"fused": 0.8, "cos": 0.5, "expanded": 0.4, "named": 1.0, "linked": 0.6, "shared": 0.2}
    scored = merge.linked(signals)
    assert scored.score == pytest.approx(0.8 + 0.5 + 0.5 * 0.4 + 0.5 * 1.0 + 1.5 * 0.6 + 0.2)
    assert sum(scored.parts.values()) == pytest.approx(scored.score)
    assert scored.parts["linked"] == pytest.approx(0.9)


def test_an_absent_signal_and_a_negative_cosine_count_nothing() -> None:
    assert merge.linked({"fused": 0.5, "cos": -0.3}).score == pytest.approx(0.5)
    assert merge.linked({}) == Scored(0, {})


def test_no_chunk_scores_more_than_the_best_possible() -> None:
    perfect = {"fused": 1.0, "cos": 1.0, "expanded": 1.0, "named": 1.0}
    perfect |= {"linked": 2 / (1 + math.log(2)), "shared": 1 / (1 + math.log(2))}
    assert merge.linked(perfect).score == pytest.approx(merge.BEST_LINKED, rel=1e-3)


def test_rrf_counts_ranks_from_one_and_rewards_no_absence() -> None:
    scores = merge.rrf([("x", 1.0, ["a", "b"]), ("y", 0.5, ["b"])], k=60)
    assert scores["a"].score == pytest.approx(1 / 61)
    assert scores["b"].score == pytest.approx(1 / 62 + 0.5 / 61)
    assert scores["b"].parts == {"x": 1 / 62, "y": 0.5 / 61}


def test_an_order_is_total_and_does_not_depend_on_the_inputs() -> None:
    scores = {A: Scored(1.0, {}), B: Scored(1.0, {}), C: Scored(2.0, {}), D: Scored(1.0, {})}
    hops = {A: 2, B: 1, C: 2, D: 1}
    for seed in range(5):
        shuffled = list(scores.items())
        random.Random(seed).shuffle(shuffled)
        assert merge.ordered(dict(shuffled), hops) == [C, B, D, A]


@pytest.mark.parametrize("signal", ["fused", "cos", "expanded", "named", "linked", "shared"])
def test_more_of_a_signal_never_lowers_a_score(signal: str) -> None:
    base = {"fused": 0.5, "cos": 0.2, "linked": 0.1}
    values = [merge.linked({**base, signal: value / 10}).score for value in range(11)]
    assert values == sorted(values)
