"""Relevance falls in the order of the hits, and its levels are monotone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.database.calibrations import LogitScale, RelevanceCalibration
from app.query.types import Term
from app.relevance import confidence, relevance
from app.relevance.relevance import Assessed, MeanEffect, Scale

MINILM = "all-MiniLM-L6-v2"
TERMS = (Term("lime", 3, 2.0), Term("mortar", 0, 4.0, times=2))
BOUND = (2.0 + 2 * 4.0) * 2.2
PREFIXED = (
    *TERMS,
    *(Term(*term, is_expansion=True) for term in (("config", 4, 3.0), ("confer", 9, 1.0), ("conf", 0, 5.0))),
)
CORRECTED = (*TERMS, Term("mortal", 1, 3.0, times=0.5, is_added=True))
SEARCH = Assessed("convex", cosine=0.6, coverage=0.5)


def scale_of(search: Assessed, **fields: RelevanceCalibration) -> Scale:
    found = relevance.scale(search, model=MINILM, **fields)
    assert found is not None
    return found


def test_the_effect_of_entities_on_the_mean_candidate_is_not_taken_for_relevance() -> None:
    everywhere = MeanEffect(added=0.5, factor=1.2)
    for score in (0.0, 0.25, 0.8):
        assert everywhere.removed(0.5 * 1.2 * score + 0.5) == pytest.approx(score)
    scale = scale_of(replace(SEARCH, entities=everywhere))
    assert scale.of(0.5 * 1.2 * 0.3 + 0.5) == pytest.approx(scale_of(SEARCH).of(0.3))
    assert scale.of(0.2) == scale_of(SEARCH).of(0.0)


def test_a_score_of_rrf_counts_as_its_fifth_power_and_scores_beyond_the_scale_as_its_ends() -> None:
    convex, rrf = scale_of(SEARCH), scale_of(replace(SEARCH, fusion="rrf"))
    assert rrf.of(0.9) == pytest.approx(convex.of(0.9**5))
    assert (convex.of(1.4), convex.of(-0.1)) == (convex.of(1.0), convex.of(0.0))


@given(st.lists(st.floats(0, 1), min_size=2), st.sampled_from(["convex", "rrf"]), st.floats(-2, 2), st.floats(0.1, 2))
def test_relevance_never_rises_from_one_hit_to_the_next(
    scores: list[float], fusion: str, intercept: float, slope: float
) -> None:
    calibration = RelevanceCalibration(LogitScale(intercept, slope))
    scale = scale_of(replace(SEARCH, fusion=fusion), calibration=calibration)
    ordered = sorted(scores, reverse=True)
    for found in ([scale.of(one) for one in ordered], [scale.over_hops(one) for one in ordered]):
        assert found == sorted(found, reverse=True)


def test_coverage_is_the_share_of_the_largest_score_that_the_terms_permit() -> None:
    assert relevance.coverage(11.0, TERMS) == pytest.approx(11.0 / BOUND)
    assert relevance.coverage(None, TERMS) == 0.0
    assert relevance.coverage(BOUND + 1, TERMS) == 1.0
    assert relevance.coverage(None, ()) is None
    assert relevance.coverage(11.0, PREFIXED) == pytest.approx(11.0 / (BOUND + 3.0 * 2.2))
    assert relevance.coverage(11.0, CORRECTED) == pytest.approx(11.0 / BOUND)


def test_an_unknown_model_has_no_relevance() -> None:
    assert relevance.scale(SEARCH, model="unknown") is None
    assert not relevance.is_calibrated("unknown")


def test_levels_are_cut_offs_in_the_order_of_confidence() -> None:
    levels = [relevance.confidence(value / 1000) for value in range(1001)]
    places = [confidence.ORDER.index(level) for level in levels]
    assert places == sorted(places)
    assert set(levels) == set(confidence.ORDER)


def test_a_better_cosine_more_covered_words_or_a_phrase_raise_answerable_and_the_relevance_of_every_hit() -> None:
    usual = scale_of(SEARCH)
    for better in (replace(SEARCH, cosine=0.62), replace(SEARCH, coverage=0.52), replace(SEARCH, is_phrase=True)):
        assert scale_of(better).answerable > usual.answerable
        assert scale_of(better).of(0.5) > usual.of(0.5)
    hopeless = scale_of(replace(SEARCH, cosine=-1.0, coverage=0.0))
    assert 0 < hopeless.of(1.0) < 1e-6


def test_a_search_of_one_leg_has_the_coefficients_of_that_leg() -> None:
    assert scale_of(SEARCH).hit is relevance.MODELS[MINILM].both.hit
    assert scale_of(replace(SEARCH, coverage=None)).hit is relevance.MODELS[MINILM].without_text.hit
    assert scale_of(replace(SEARCH, cosine=None, coverage=None)).hit is relevance.WITHOUT_VECTOR.hit
