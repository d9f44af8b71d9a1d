"""Merged orders follow their formulas."""

from __future__ import annotations

import math
import random
from uuid import UUID

import pytest

from app.ranking import merge
from app.ranking.merge import HopHit, Scored

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def test_classic_adds_its_bonuses_to_the_rrf_score() -> None:
    found = [HopHit(A, C, 1, 1 / 61), HopHit(B, D, 2, 1 / 61)]
    scores = merge.classic(found)
    assert scores[A].score == pytest.approx(1 / 61 + 0.0005 + 0.0002)
    assert scores[B].score == pytest.approx(1 / 61 + 0.0002)
    assert scores[A].parts == {"rrf": 1 / 61, "hop_1": 0.0005, "single_document": 0.0002}


def test_classic_counts_repeated_documents_and_chunks_of_two_hops() -> None:
    scores = merge.classic([HopHit(A, D, 2, 2 / 61), HopHit(A, D, 1, 1 / 61), HopHit(B, D, 1, 1 / 62)])
    assert scores[A].score == pytest.approx(1 / 61 + 0.0005)
    assert scores[B].score == pytest.approx(1 / 62 + 0.0005)
    assert merge.max_classic(2 / 61) == pytest.approx(2 / 61 + 0.0007)


def test_linked_is_a_weighted_sum_and_its_parts_add_up_to_it() -> None:
    signals = {"fused": 0.8, "cos": 0.5, "expanded": 0.4, "named": 1.0, "linked": 0.6, "shared": 0.2, "rare": 0.3}
    signals["identifier"] = 0.1
    scored = merge.linked(signals)
    assert scored.score == pytest.approx(0.75 * 0.8 + 0.5 + 0.5 * 0.4 + 0.5 * 1.0 + 1.5 * 0.6 + 0.2 + 2 * 0.3 + 3 * 0.1)
    assert sum(scored.parts.values()) == pytest.approx(scored.score)
    assert scored.parts["linked"] == pytest.approx(0.9)


def test_an_absent_signal_and_a_negative_cosine_count_nothing() -> None:
    assert merge.linked({"expanded": 0.5, "cos": -0.3}).score == pytest.approx(0.25)
    assert merge.linked({}) == Scored(0, {})


def test_no_chunk_scores_more_than_the_best_possible() -> None:
    perfect = {"fused": 1.0, "cos": 1.0, "expanded": 1.0, "named": 1.0}
    perfect |= {"linked": 2 / (1 + math.log(2)), "shared": 1 / (1 + math.log(2))}
    whole = merge.with_coverage({A: merge.linked(perfect)}, {A: {"x", "y"}}, {"x": 2.0, "y": 5.0}, {})
    assert whole[A].score == pytest.approx(merge.MAX_LINKED_SCORE, rel=1e-3)


def test_rare_words_and_identifiers_lift_no_chunk_above_the_best_one_without_them() -> None:
    scores = {
        A: Scored(2.0, {"cos": 1.0, "rare": 0.2, "identifier": 0.8}),
        B: Scored(1.5, {"cos": 1.5}),
        C: Scored(1.2, {"cos": 0.8, "rare": 0.4}),
    }
    held = {A: {"tide"}, B: {"buoy"}, C: set[str]()}
    idf = {"tide": 1.0, "buoy": 1.0}
    limited = merge.with_limited_links(scores, held, idf)
    assert limited[A].parts == pytest.approx({"cos": 1.0, "rare": 0.1, "identifier": 0.4}), "the best has 1.5"
    assert limited[A].score == pytest.approx(sum(limited[A].parts.values()))
    assert (limited[B], limited[C]) == (scores[B], scores[C])
    assert merge.order(merge.with_coverage(limited, held, idf, {}), {}) == [B, A, C]
    assert merge.with_limited_links(scores, {**held, A: {"tide", "buoy"}}, idf)[A].parts == {"cos": 1.0}


def test_a_chunk_scores_for_the_words_that_no_chunk_above_it_contains() -> None:
    scores = {A: Scored(2.0, {"cos": 2.0}), B: Scored(1.9, {"cos": 1.9}), C: Scored(1.0, {}), D: Scored(0.5, {})}
    held = {A: {"tide", "buoy"}, B: {"tide", "buoy"}, C: {"lamp"}}
    covered = merge.with_coverage(scores, held, {"tide": 1.0, "buoy": 2.0, "lamp": 1.0}, {})
    assert merge.order(covered, {}) == [A, B, C, D]
    assert covered[A].parts == {"cos": 2.0, "covers": pytest.approx(merge.COVERAGE_WEIGHT * 5 / 6)}
    assert covered[B] == scores[B], "everything that it holds is told already"
    assert covered[C].score == pytest.approx(1.0 + merge.COVERAGE_WEIGHT / 6)
    rare = merge.with_coverage(scores, held, {"tide": 1.0, "buoy": 1.0, "lamp": 2.0}, {})
    assert merge.order(rare, {}) == [A, C, B, D]


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
                one: scored.score + merge.COVERAGE_WEIGHT * sum(idf[w] ** 2 for w in held[one] & missing) / whole
                for one, scored in left.items()
            }
            best = max(worth, key=lambda one: worth[one])
            chosen.append((best, pytest.approx(worth[best])))
            missing -= held[best]
            del left[best]
        covered = merge.with_coverage(scores, held, idf, {})
        assert [(one, covered[one].score) for one in merge.order(covered, {})] == chosen


def test_coverage_is_zero_without_known_words() -> None:
    scores = {A: Scored(1.0, {}), B: Scored(2.0, {})}
    assert (
        merge.with_coverage(scores, {A: set()}, {}, {}) == merge.with_coverage(scores, {}, {"tide": 1.0}, {}) == scores
    )


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
        assert merge.order(dict(shuffled), hops) == [C, B, D, A]


@pytest.mark.parametrize("signal", ["fused", "cos", "expanded", "named", "linked", "shared"])
def test_more_of_a_signal_never_lowers_a_score(signal: str) -> None:
    base = {"fused": 0.5, "cos": 0.2, "linked": 0.1}
    values = [merge.linked({**base, signal: value / 10}).score for value in range(11)]
    assert values == sorted(values)
