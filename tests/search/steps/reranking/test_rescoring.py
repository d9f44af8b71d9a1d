"""Rescoring and maximal marginal relevance follow their formulas."""

from __future__ import annotations

import pytest

from app.search.steps.reranking import mmr, rerank


def test_a_negative_cosine_counts_nothing_and_without_one_the_score_stays() -> None:
    assert rerank.blend(0.8, -0.5, weight=0.5) == pytest.approx(0.4)
    assert rerank.blend(0.8, None, weight=0.5) == 0.8
    assert rerank.blend(1.0, 1.0000001, weight=0.5) == 1.0


def test_jaccard_is_shared_words_over_all_words() -> None:
    abc, bcd, none = mmr.bit_sets([frozenset("abc"), frozenset("bcd"), frozenset()])
    assert mmr.jaccard(abc, bcd) == pytest.approx(2 / 4)
    assert mmr.jaccard(abc, none) == mmr.jaccard(none, none) == 0
    assert mmr.words("Red boat, RED tree") == {"red", "boat", "tree"}


def test_mmr_at_one_is_the_order_by_score_and_a_negative_cosine_counts_as_zero() -> None:
    relevance = mmr.select([1.0, 0.9, 0.8], lambda _i, _j: 1.0, trade=1.0, limit=2)
    assert [one.position for one in relevance] == [0, 1]
    assert [one.nearest for one in mmr.select([1.0, 0.9], lambda _i, _j: -1.0, limit=2, trade=0.7)] == [0.0, 0.0]
