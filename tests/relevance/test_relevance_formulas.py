"""Relevance falls in the order of the hits and follows from closeness and cosine; `answerable` follows from it."""

import itertools
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import enums
from app.database.calibration_types import LogitScale, RelevanceCalibration
from app.query.search_types import AddedTerm, Term
from app.relevance import cosine_scales, relevance
from app.relevance.relevance import UNKNOWN_NAME, Assessment, MeanEffect

TERMS = (Term("lime", 3, 2.0), Term("mortar", 0, 4.0, times=2))
PREFIXED = (
    *TERMS,
    *(Term(*term, is_expansion=True) for term in (("config", 4, 3.0), ("confer", 9, 1.0), ("conf", 0, 5.0))),
)
CORRECTED = (*TERMS, Term("mortal", 1, 3.0, times=0.5, is_added=True))
SEARCH = Assessment("convex", cosine=0.6, closeness=0.5)


def test_the_effect_of_entities_on_the_mean_candidate_is_not_taken_for_relevance() -> None:
    everywhere = replace(SEARCH, entities=MeanEffect(added=0.5, factor=1.2))
    assert everywhere.relevance(0.5 * 1.2 * 0.3 + 0.5) == pytest.approx(SEARCH.relevance(0.3))
    assert everywhere.relevance(0.2) == SEARCH.relevance(0.0)


def test_a_score_of_rrf_counts_as_its_fifth_power_and_scores_beyond_the_scale_as_its_ends() -> None:
    rrf = replace(SEARCH, fusion="rrf")
    assert rrf.relevance(0.9) == pytest.approx(SEARCH.relevance(0.9**5))
    assert (SEARCH.relevance(1.4), SEARCH.relevance(-0.1)) == (SEARCH.relevance(1.0), SEARCH.relevance(0.0))


def test_a_misspelt_word_counts_as_its_correction_and_an_unknown_or_ambiguous_one_as_itself() -> None:
    mortal = AddedTerm("corrections", "mortar", lexemes=("mortal", "portal"), corrects=("mortar",))
    portal = Term("portal", 9, 1.0, times=0.5, is_added=True)
    found = relevance.correct((*CORRECTED, portal), [mortal])
    assert found == [TERMS[0], Term("mortal", 1, 3.0, times=0.5), portal]
    assert relevance.closeness("Mortal.", found) == pytest.approx(1.5 / 3.5)
    for added in (AddedTerm("synonyms", "mortar", lexemes=("mortal",)), replace(mortal, lexemes=("other",))):
        assert relevance.correct(CORRECTED, [added]) == CORRECTED


def test_over_several_hops_a_passage_with_all_of_the_query_leaves_less_to_the_others() -> None:
    near, spread = (replace(SEARCH, closeness=value) for value in (1.0, 0.0))
    over_hops = [one.relevance_over_hops(0.3) / one.answered for one in (near, spread)]
    assert over_hops[0] < over_hops[1]
    assert near.relevance(0.3) / near.answered == pytest.approx(spread.relevance(0.3) / spread.answered)


def test_what_hops_bring_together_changes_answerable_and_leaves_the_relevance_of_hits() -> None:
    weak, strong = (replace(SEARCH, share=share) for share in (0.05, 0.3))
    possible = [0.05] * 60
    assert weak.answerable(possible) < strong.answerable(possible)
    assert weak.relevance_over_hops(0.3) == strong.relevance_over_hops(0.3) == SEARCH.relevance_over_hops(0.3)


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    scales=st.tuples(*[st.builds(LogitScale, st.floats(-3, 3), st.floats(0.1, 3))] * 3),
    search=st.builds(
        Assessment,
        st.sampled_from(get_args(enums.FusionUsed)),
        st.none() | st.floats(-1, 1),
        st.none() | st.floats(0, 1),
        share=st.none() | st.floats(0, 1),
        is_foreign=st.booleans(),
        names_unknown=st.booleans(),
    ),
)
def test_relevance_falls_and_answerable_is_between_its_largest_value_and_that_of_independent_hits(
    scores: list[float], scales: tuple[LogitScale, LogitScale, LogitScale], search: Assessment
) -> None:
    assessed, ordered = replace(search, calibration=RelevanceCalibration(*scales)), sorted(scores, reverse=True)
    for value_of in (assessed.relevance, assessed.relevance_over_hops):
        found = [value_of(score) for score in ordered]
        assert found == sorted(found, reverse=True)
        none = 1.0
        for value in found:
            none *= 1 - value
        most = UNKNOWN_NAME if search.names_unknown else 1 - none
        assert found[0] <= assessed.answerable(found) <= max(found[0], min(most, 1 - none)) + 1e-12
    assert assessed.answerable(()) == 0.0


def test_of_the_forms_of_a_word_in_several_languages_the_most_frequent_one_counts() -> None:
    english = (Term("code", 12, 5.0, places=(2,)), Term("wed", 0, 9.0, places=(5, 7)))
    other = (Term("cod", 3, 6.0, places=(2,)), Term("wedding", 0, 9.0, places=(5, 7)), Term("the", 1, 0.1, places=(1,)))
    assert relevance.closeness("The code.", english + other) == pytest.approx((5.0 + 0.1) / (5.0 + 9.0 + 0.1))


def test_closeness_is_the_largest_share_of_the_query_that_one_sentence_has() -> None:
    of = relevance.closeness
    apart, together = "Lime is slaked. The mortars set slowly.", "Slaked at noon. Mortars of Limé: set slowly."
    assert of(apart, TERMS) == pytest.approx(8 / 10)
    assert of(together, TERMS) == 1.0
    assert of("Sublime.", TERMS) == of("", TERMS) == 0.0
    assert of(together, ()) is None
    assert of("A plaster.", (*TERMS, Term("plaster", 1, 3.0, times=0.5, is_added=True))) == pytest.approx(1.5 / 10)
    assert of("Configured at a conference.", PREFIXED) == pytest.approx(3 / 13)
    assert of("石灰と砂です。", (Term("石灰", 1, 1.0), Term("砂利", 1, 1.0))) == pytest.approx(1 / 2)
    assert of("Append-only mode.", (Term("append-on", 1, 2.0), Term("append", 1, 1.0), Term("mode", 1, 1.0))) == 1.0
    assert of("Error 4012 of the gauge.", (Term("40", 1, 1.0), Term("error gaug", 1, 1.0))) == pytest.approx(1 / 2)
    assert of("Error of the gauge.", (Term("40", 0, 1.0), Term("error gaug", 1, 1.0))) == 0.0
    assert of("第45条：図E-27を参照", (Term("45", 1, 1.0), Term("27", 1, 1.0))) == 1.0
    assert of("شهریه ۳۵۰ تومان است۔ فردا", (Term("350", 1, 1.0), Term("فردا", 1, 1.0))) == pytest.approx(1 / 2)
    assert of("한국어 문장", (Term("국어", 1, 1.0),)) == 1.0


@pytest.mark.parametrize(
    ("config", "lexemes", "text"),
    [
        ("arabic", "مدرس جديد", "افتتحت المدرسة الجديدة"),
        ("serbian", "račun ljubav", "Љубав и рачун"),
        ("indonesian", "baca", "Ia membaca"),
    ],
)
def test_words_are_found_as_their_language_stems_them(config: str, lexemes: str, text: str) -> None:
    terms = [Term(lexeme, 1, 1.0) for lexeme in lexemes.split()]
    assert relevance.closeness(text, terms, config=config) == 1.0
    assert relevance.closeness(text, terms, config="english") == 0.0


def test_title_and_headings_belong_to_each_sentence() -> None:
    of = relevance.closeness
    assert of("It sets slowly.", TERMS, above="Lime") == pytest.approx(2 / 10)
    assert of("Mortars. It sets slowly.", TERMS, above="Materials Lime") == 1.0
    assert of("It sets slowly.", PREFIXED, above="Configuration") == pytest.approx(3 / 13)


def test_levels_are_cut_offs_of_relevance() -> None:
    levels = [relevance.confidence(value / 1000) for value in range(1001)]
    assert set(levels) == {level for _, level in relevance.LEVELS}
    assert all(relevance.is_at_least(high, low) for low, high in itertools.pairwise(levels))
    assert not relevance.is_at_least("medium", "high")


def test_a_better_cosine_a_closer_sentence_or_a_phrase_raise_answerable_and_the_relevance_of_every_hit() -> None:
    raised = (replace(SEARCH, cosine=0.62), replace(SEARCH, closeness=0.52))
    for better in (*raised, replace(SEARCH, is_literal=True)):
        assert better.answered > SEARCH.answered
        assert better.relevance(0.5) > SEARCH.relevance(0.5)
    hopeless = replace(SEARCH, cosine=-1.0, closeness=0.0)
    assert 0 < hopeless.relevance(1.0) < 1e-4


def test_a_cosine_is_counted_from_that_of_unrelated_texts() -> None:
    assert cosine_scales.above(0.75, 0.75) == 0.0
    assert cosine_scales.above(1.0, 0.75) == 1.0
    assert cosine_scales.above(0.86, 0.72) == pytest.approx(0.5)
    assert [cosine_scales.like_built_in(one, 0.72) for one in (0.72, 1.0)] == pytest.approx(
        [cosine_scales.BUILT_IN, 1.0]
    )
    assert [cosine_scales.like_built_in(0.6, one) for one in (None, cosine_scales.BUILT_IN)] == pytest.approx(
        [0.6, 0.6]
    )


@given(st.floats(-3, 3), st.floats(0.1, 3), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_scale_keeps_the_order_and_can_be_taken_back(intercept: float, slope: float, one: float, two: float) -> None:
    scale = LogitScale(intercept, slope)
    first, second = (relevance.calibrate(scale, value) for value in (one, two))
    assert (first <= second) == (one <= two) or first == pytest.approx(second)
    assert relevance.uncalibrate(scale, first) == pytest.approx(one, rel=1e-3)
