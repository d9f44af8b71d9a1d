"""Relevance is the published logistic function, and its levels are monotone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.ranking import confidence, relevance
from app.shapes import Candidate, Term

MINILM = "all-MiniLM-L6-v2"
TERMS = (Term("lime", 3, 2.0), Term("mortar", 0, 4.0, times=2))
BOUND = (2.0 + 2 * 4.0) * 2.2
PREFIXED = (
    *TERMS,
    *(Term(*term, is_expansion=True) for term in (("config", 4, 3.0), ("confer", 9, 1.0), ("conf", 0, 5.0))),
)


def candidate(**fields: Any) -> Candidate:
    legs = dict.fromkeys(("rrf_score", "convex_score", "vector_score", "text_score", "vector_rank", "text_rank"))
    text = {"title": "", "uri": None, "content": "", "chunk_index": 0, "start_offset": 0, "end_offset": 0}
    known = {"source_id": None, "heading_path": (), "metadata": {}, "score": 0.0, **legs, **text, **fields}
    return Candidate(chunk_id=UUID(int=1), document_id=UUID(int=2), **known)


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


@pytest.mark.parametrize(
    ("terms", "has_vector", "logit"),
    [
        (TERMS, True, -6.2 + 7.4 * 0.5 + 5.2 * (11 / BOUND)),
        (TERMS, False, -4.1 + 9.9 * (11 / BOUND)),
        ((), True, -6.0 + 9.5 * 0.5),
        (PREFIXED, False, -4.1 + 9.9 * (11 / (BOUND + 3.0 * 2.2))),
    ],
)
def test_relevance_is_the_logistic_function_of_cosine_and_coverage(
    terms: tuple[Term, ...], has_vector: bool, logit: float
) -> None:
    scale = relevance.scale(terms, model=MINILM, has_vector=has_vector)
    assert scale is not None
    found = candidate(cosine=0.5, text_score=11.0 if terms else None)
    assert scale.of(found, literal=False) == pytest.approx(logistic(logit))
    assert scale.of(found, literal=True) == pytest.approx(logistic(logit + 3.0))
    assert scale.of(found, literal=False, linked=0.5) == pytest.approx(logistic(logit + 2.0))


def test_a_better_cosine_or_more_covered_words_never_lower_the_relevance() -> None:
    scale = relevance.scale(TERMS, model=MINILM, has_vector=True)
    assert scale is not None
    usual = candidate(cosine=0.3, text_score=4.0)
    for better in (replace(usual, cosine=0.31), replace(usual, text_score=4.1)):
        assert scale.of(better, literal=False) > scale.of(usual, literal=False)
    nothing = candidate(cosine=None, text_score=None)
    assert scale.of(nothing, literal=False) == pytest.approx(logistic(-6.2))


def test_an_unknown_model_has_no_relevance() -> None:
    assert relevance.scale(TERMS, model="unknown", has_vector=True) is None
    assert not relevance.is_calibrated("unknown")


def test_levels_are_cut_offs_in_the_order_of_confidence() -> None:
    levels = [relevance.confidence(value / 1000) for value in range(1001)]
    places = [confidence.ORDER.index(level) for level in levels]
    assert places == sorted(places)
    assert set(levels) == set(confidence.ORDER)


def test_answerability_follows_from_the_best_hit_and_is_0_without_hits() -> None:
    assert relevance.answerable([]) == 0.0
    assert relevance.answerable([0.1, 0.6, 0.2]) == relevance.answerable([0.6])
    assert relevance.answerable([0.5]) == pytest.approx(logistic(1.1))
    assert 0 < relevance.answerable([1e-12]) < relevance.answerable([0.2]) < relevance.answerable([1.0]) < 1


def test_the_linked_sum_decides_between_the_hits_of_several_hops() -> None:
    assert relevance.over_hops(2.5, 0.5) == pytest.approx(logistic(-6.0 + 2.0 * 2.5))
    assert relevance.over_hops(2.5, 0.5) > relevance.over_hops(2.0, 0.5) > relevance.over_hops(2.0, 0.1)
