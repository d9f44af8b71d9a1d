"""Entity scores, blending, boosts and convergence follow their formulas."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from app.ranking import blending, convergence, entity_scores
from app.shapes import Candidate, EntityMatch, Hit, Link, Weights

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def match(entity_id: UUID, score: float, **fields: Any) -> EntityMatch:
    given = {"name": "Ana", "type": "person", "origin": "user", "matched_by": "name"} | fields
    return EntityMatch(entity_id, score=score, **given)


def hit(chunk_id: UUID, score: float, document_id: UUID = A) -> Hit:
    empty = dict.fromkeys(("source_id", "uri", "rrf_score", "convex_score", "vector_score", "text_score"))
    ranks = {"vector_rank": 1, "text_rank": None}
    place = {"chunk_index": 0, "start_offset": 0, "end_offset": 0, "heading_path": ()}
    texts = {"title": "", "content": "", "metadata": {}}
    return Hit(Candidate(chunk_id, document_id, score=score, **empty, **ranks, **place, **texts), "medium", ())


def scores(hits: list[Hit]) -> dict[UUID, float]:
    return {hit.candidate.chunk_id: hit.candidate.score for hit in hits}


def test_a_similar_name_scores_between_060_and_095() -> None:
    assert entity_scores.fuzzy(entity_scores.MIN_SIMILARITY) == pytest.approx(0.6)
    assert entity_scores.fuzzy(1.0) == pytest.approx(0.95)
    assert entity_scores.fuzzy(0.875) == pytest.approx(0.6 + 0.35 / 2)


def test_a_description_scores_by_its_cosine_between_0_and_080() -> None:
    assert entity_scores.description(0.55) == pytest.approx((0.55 - 0.3) / 0.5)
    assert (entity_scores.description(0.2), entity_scores.description(0.95)) == (0.0, 0.8)


def test_facts_score_by_coverage_and_less_for_a_single_word() -> None:
    assert entity_scores.fact(1.0, 3) == pytest.approx(0.55)
    assert entity_scores.fact(0.8, 5) == pytest.approx(0.44)
    assert entity_scores.fact(1.0, 1) == pytest.approx(0.55 / 3)


def test_an_entity_keeps_its_best_match_and_the_best_are_first() -> None:
    found = [match(A, 0.4, matched_by="fact"), match(A, 1.0), match(B, 0.7, matched_by="fuzzy"), match(C, 0.0)]
    assert [(m.entity_id, m.score, m.matched_by) for m in entity_scores.best(found, limit=5)] == [
        (A, 1.0, "name"),
        (B, 0.7, "fuzzy"),
    ]
    assert [m.entity_id for m in entity_scores.best(found, limit=1)] == [A]


def test_a_users_own_entity_replaces_an_automatic_one_of_that_name() -> None:
    found = [match(A, 1.0, origin="title", key="ana"), match(B, 1.0, key="ana"), match(C, 1.0, origin="title", key="x")]
    assert [m.entity_id for m in entity_scores.best(found, limit=5)] == [B, C]


def test_the_fallback_reason_depends_on_the_best_score_and_the_spread_of_a_full_list() -> None:
    sure = [match(A, 1.0), match(B, 0.6)]
    assert entity_scores.fallback_reason(sure, threshold=0.5, limit=5) is None
    assert entity_scores.fallback_reason([], threshold=0.5, limit=5) == "not_entity_centric"
    assert entity_scores.fallback_reason([match(A, 0.49)], threshold=0.5, limit=5) == "not_entity_centric"
    flat = [match(UUID(int=n), 0.80 - 0.02 * n) for n in range(5)]
    assert entity_scores.fallback_reason(flat, threshold=0.5, limit=5) == "too_broad"
    assert entity_scores.fallback_reason(flat[:4], threshold=0.5, limit=5) is None


def test_the_blend_is_alpha_times_the_passage_and_the_rest_its_best_entity() -> None:
    links = {A: Link(A, C, 1.0, 2.0), B: Link(B, D, 0.6, 9.0)}
    blended = blending.blended([hit(A, 0.2, A), hit(B, 0.9, B), hit(C, 1.0, C)], links, alpha=0.5)
    assert scores(blended) == pytest.approx({B: 0.5 * 0.9 + 0.5 * 0.6, A: 0.5 * 0.2 + 0.5 * 1.0, C: 0.5 * 1.0})
    assert [h.candidate.chunk_id for h in blended] == [B, A, C]
    assert [h.parent.doc_score for h in blended if h.parent] == [0.9, 0.2, 1.0]


@pytest.mark.parametrize(("alpha", "order"), [(1.0, [C, B, A]), (0.0, [A, B, C])])
def test_alpha_1_is_the_passages_own_order_and_alpha_0_the_entities(alpha: float, order: list[UUID]) -> None:
    links = {A: Link(A, C, 1.0, 2.0), B: Link(B, D, 0.6, 9.0)}
    blended = blending.blended([hit(A, 0.2, A), hit(B, 0.9, B), hit(C, 1.0, C)], links, alpha=alpha)
    assert [h.candidate.chunk_id for h in blended] == order


def test_equal_final_scores_are_ordered_by_the_stronger_link() -> None:
    links = {A: Link(A, C, 1.0, 2.0), B: Link(B, C, 1.0, 9.0)}
    blended = blending.blended([hit(A, 0.5, A), hit(B, 0.5, B)], links, alpha=0.5)
    assert [h.candidate.chunk_id for h in blended] == [B, A]


@pytest.mark.parametrize(("mentions", "factor"), [(0, 1.0), (1, 1.1), (5, 1.5), (40, 1.5)])
def test_a_mention_boosts_by_a_tenth_and_many_by_half(mentions: int, factor: float) -> None:
    assert blending.boost_factor(mentions) == pytest.approx(factor)


def test_boosted_hits_rise_by_the_reported_ranks_and_scores_stay_at_most_1() -> None:
    lifted = blending.boosted([hit(A, 0.95), hit(B, 0.9), hit(C, 0.8)], {B: 2, C: 5}, {B: 1.2, C: 1.5})
    assert [(h.candidate.chunk_id, h.candidate.score) for h in lifted] == [(B, 1.0), (C, 1.0), (A, 0.95)]
    assert [(h.boost.factor, h.boost.mentions, h.boost.score_before, h.boost.moved) for h in lifted if h.boost] == [
        (1.2, 2, 0.9, 1),
        (1.5, 5, 0.8, 1),
    ]


def test_without_mentions_nothing_changes() -> None:
    hits = [hit(A, 0.95), hit(B, 0.9)]
    assert blending.boosted(hits, {}, {}) == hits


def test_an_answer_has_settled_after_three_rounds_without_a_change() -> None:
    settled = convergence.StableTopK(limit=2)
    rounds = []
    for batch in ({A: 0.9, B: 0.8}, {C: 0.7}, {D: 0.85}, {UUID(int=5): 0.1}, {}, {UUID(int=7): 0.3}):
        settled.add_batch(batch)
        rounds.append(settled.is_stable())
    assert (rounds, settled.top) == ([False] * 5 + [True], [A, D])


def test_a_convergent_score_does_not_depend_on_what_else_was_scored() -> None:
    even = Weights(1.0, 1.0)
    assert convergence.score(0.6, 5.0, bound=10.0, weights=even) == pytest.approx((0.6 + 0.5) / 2)
    assert convergence.score(None, 5.0, bound=10.0, weights=even) == pytest.approx(0.25)
    assert convergence.score(0.6, None, bound=0.0, weights=Weights(0.3, 0.7)) == pytest.approx(0.18)
    assert convergence.score(-0.2, 20.0, bound=10.0, weights=even) == pytest.approx(0.5)


def test_a_better_passage_never_ends_up_lower_for_being_shuffled() -> None:
    dice = random.Random(3)
    links = {A: Link(A, C, 1.0, 2.0)}
    hits = [hit(UUID(int=n), dice.random(), dice.choice((A, B))) for n in range(10, 30)]
    once = [h.candidate.chunk_id for h in blending.blended(hits, links, alpha=0.5)]
    dice.shuffle(hits)
    assert [h.candidate.chunk_id for h in blending.blended(hits, links, alpha=0.5)] == once
