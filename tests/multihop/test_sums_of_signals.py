"""The sum of signals follows its formulas and the table in docs/multihop.md."""

import math
import random
import re
from pathlib import Path
from uuid import UUID

import pytest

from app.multihop import hop_strategies
from app.multihop.hop_strategies import HopScores
from app.query import hop_signal_weights
from app.search import rank_fusion
from app.search.rank_fusion import Scored

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def test_an_absent_signal_and_a_negative_cosine_count_nothing() -> None:
    assert hop_strategies.sum_signals({"expanded": 0.5, "cos": -0.3}).score == pytest.approx(0.25)
    assert hop_strategies.sum_signals({}) == Scored(0, {})


def test_no_chunk_scores_more_than_the_best_possible() -> None:
    perfect = {"fused": 1.0, "cos": 1.0, "expanded": 1.0, "named": 1.0}
    perfect |= {"linked": 2 / (1 + math.log(2)), "shared": 1 / (1 + math.log(2))}
    whole = hop_strategies.add_coverage(
        {A: hop_strategies.sum_signals(perfect)}, {A: {"x", "y"}}, {"x": 2.0, "y": 5.0}, {}
    )
    assert whole[A].score == pytest.approx(hop_strategies.LARGEST_SUM + hop_strategies.COVERAGE_WEIGHT, rel=1e-3)


def test_limited_signals_lift_no_chunk_above_the_best_one_without_them() -> None:
    scores = {
        A: Scored(2.0, {"cos": 1.0, "rare": 0.2, "identifier": 0.8}),
        B: Scored(1.5, {"cos": 1.5}),
        C: Scored(1.2, {"cos": 0.8, "rare": 0.4}),
    }
    held = {A: {"tide"}, B: {"buoy"}, C: set[str]()}
    idf = {"tide": 1.0, "buoy": 1.0}
    limited = hop_strategies.limit_sums(scores, held, idf)
    assert limited[A].parts == pytest.approx({"cos": 1.0, "rare": 0.1, "identifier": 0.4}), "the best has 1.5"
    assert limited[A].score == pytest.approx(sum(limited[A].parts.values()))
    assert (limited[B], limited[C]) == (scores[B], scores[C])
    assert rank_fusion.order(hop_strategies.add_coverage(limited, held, idf, {}), {}) == [B, A, C]
    assert hop_strategies.limit_sums(scores, {**held, A: {"tide", "buoy"}}, idf)[A].parts == {"cos": 1.0}


def test_coverage_is_a_greedy_choice_whose_scores_fall_with_rank() -> None:
    dice, words = random.Random(5), "abcdefgh"
    for _ in range(50):
        idf = {word: dice.uniform(0.2, 8) for word in words}
        scores = {UUID(int=n): Scored(dice.uniform(0, 5), {}) for n in range(12)}
        held = {one: set(dice.choices(words, k=dice.randint(0, 4))) for one in scores}
        left, missing, chosen = dict(scores), set(words), []
        whole = sum(value**2 for value in idf.values())
        while left:
            worth = {
                one: scored.score
                + hop_strategies.COVERAGE_WEIGHT * sum(idf[w] ** 2 for w in held[one] & missing) / whole
                for one, scored in left.items()
            }
            best = max(worth, key=lambda one: worth[one])
            chosen.append((best, pytest.approx(worth[best])))
            missing -= held[best]
            del left[best]
        covered = hop_strategies.add_coverage(scores, held, idf, {})
        assert [(one, covered[one].score) for one in rank_fusion.order(covered, {})] == chosen


def test_a_chunk_is_put_first_by_a_part_of_its_score_and_one_that_is_gone_changes_nothing() -> None:
    scores = HopScores({A: Scored(2.0, {"cos": 2.0}), B: Scored(0.5, {"cos": 0.5})}, largest=8.0)
    raised = hop_strategies.put_first(scores, B)
    assert rank_fusion.order(raised.by_chunk, {}) == [B, A]
    assert raised.by_chunk[B].parts["first"] == pytest.approx(1.5)
    assert raised.by_chunk[B].score == pytest.approx(sum(raised.by_chunk[B].parts.values()))
    assert hop_strategies.put_first(scores, A) == hop_strategies.put_first(scores, C) == scores
    assert hop_strategies.put_first(HopScores({}, largest=8.0), A).by_chunk == {}


def test_an_order_is_total_and_does_not_depend_on_the_inputs() -> None:
    scores = {A: Scored(1.0, {}), B: Scored(1.0, {}), C: Scored(2.0, {}), D: Scored(1.0, {})}
    hops = {A: 2, B: 1, C: 2, D: 1}
    for seed in range(5):
        shuffled = random.Random(seed).sample(list(scores.items()), 4)
        assert rank_fusion.order(dict(shuffled), hops) == [C, B, D, A]


PAGE = Path(__file__).parents[2] / "docs" / "multihop.md"


def test_the_page_on_multi_hop_search_lists_every_signal_with_its_weight() -> None:
    listed = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = {**hop_signal_weights.WEIGHTS, "covers": hop_strategies.COVERAGE_WEIGHT}
    assert {name: float(weight) for name, weight in listed} == expected


def test_the_largest_strength_of_a_link_is_that_of_a_whole_source_and_the_rarest_name() -> None:
    title, shared = 2 / (1 + math.log(1 + 1)), 1 / (1 + math.log(2))
    for name, exact in (("linked", title), ("shared", shared)):
        largest = hop_signal_weights.LINKS[name].largest
        assert exact <= largest == pytest.approx(exact, abs=1e-4)
