"""Merged orders follow their formulas."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from app.search import merge
from app.search.merge import HopHit, Scored

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def test_classic_counts_repeated_documents_and_chunks_of_two_hops() -> None:
    scores = merge.classic([HopHit(A, D, 2, 2 / 61), HopHit(A, D, 1, 1 / 61), HopHit(B, D, 1, 1 / 62)])
    assert scores[A].score == pytest.approx(1 / 61 + 0.0005)
    assert scores[B].score == pytest.approx(1 / 62 + 0.0005)
    assert merge.max_classic(2 / 61) == pytest.approx(2 / 61 + 0.0007)


def test_an_order_is_total_and_does_not_depend_on_the_inputs() -> None:
    scores = {A: Scored(1.0, {}), B: Scored(1.0, {}), C: Scored(2.0, {}), D: Scored(1.0, {})}
    hops = {A: 2, B: 1, C: 2, D: 1}
    for seed in range(5):
        shuffled = list(scores.items())
        random.Random(seed).shuffle(shuffled)
        assert merge.order(dict(shuffled), hops) == [C, B, D, A]
