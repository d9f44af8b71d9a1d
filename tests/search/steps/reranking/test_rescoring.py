"""Rescoring and maximal marginal relevance follow their formulas."""

from __future__ import annotations

import random

import pytest

from app.search.steps.reranking import mmr, rerank


def test_a_negative_cosine_counts_nothing_and_without_one_the_score_stays() -> None:
    assert rerank.blend(0.8, -0.5, weight=0.5) == pytest.approx(0.4)
    assert rerank.blend(0.8, None, weight=0.5) == 0.8
    assert rerank.blend(1.0, 1.0000001, weight=0.5) == 1.0


def test_what_is_scored_again_comes_first_and_the_rest_follows_without_a_higher_score() -> None:
    ordered = rerank.order([0.9, 0.8, 0.7, 0.1], {0: 0.2, 1: 0.6})
    assert ordered == [(1, 0.6), (0, 0.2), (2, 0.2), (3, 0.1)]


def test_equal_new_scores_keep_their_order_and_none_at_all_keeps_everything() -> None:
    assert [position for position, _score in rerank.order([0.9, 0.8, 0.7], {2: 0.5, 0: 0.5, 1: 0.5})] == [0, 1, 2]
    assert rerank.order([1.2, 1.1, 0.8], {}) == [(0, 1.2), (1, 1.1), (2, 0.8)]


def test_scores_fall_whatever_is_scored_again() -> None:
    draw = random.Random(1)
    for _ in range(50):
        scores = sorted((draw.random() for _ in range(12)), reverse=True)
        again = {place: draw.random() for place in draw.sample(range(12), draw.randrange(13))}
        ordered = [score for _position, score in rerank.order(scores, again)]
        assert ordered == sorted(ordered, reverse=True)


def test_jaccard_is_shared_words_over_all_words() -> None:
    abc, bcd, none = mmr.bit_sets([frozenset("abc"), frozenset("bcd"), frozenset()])
    assert mmr.jaccard(abc, bcd) == pytest.approx(2 / 4)
    assert mmr.jaccard(abc, none) == mmr.jaccard(none, none) == 0
    assert mmr.words("Red boat, RED tree") == {"red", "boat", "tree"}


def test_mmr_prefers_what_is_new_and_shows_its_arithmetic() -> None:
    alike = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]
    first, second, third = mmr.select([1.0, 0.9, 0.8], lambda i, j: alike[i][j], limit=3, trade=0.7)
    assert [first.position, second.position, third.position] == [0, 2, 1]
    assert (first.nearest, first.value) == (0.0, pytest.approx(0.7))
    assert (second.nearest, second.value) == (0.1, pytest.approx(0.7 * 0.8 - 0.3 * 0.1))
    assert (third.nearest, third.value) == (0.9, pytest.approx(0.7 * 0.9 - 0.3 * 0.9))


def test_mmr_at_one_is_the_order_by_score_and_a_negative_cosine_counts_as_zero() -> None:
    relevance = mmr.select([1.0, 0.9, 0.8], lambda _i, _j: 1.0, trade=1.0, limit=2)
    assert [one.position for one in relevance] == [0, 1]
    assert [one.nearest for one in mmr.select([1.0, 0.9], lambda _i, _j: -1.0, limit=2, trade=0.7)] == [0.0, 0.0]
