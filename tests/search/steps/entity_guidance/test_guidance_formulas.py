"""Entity scores, aboutness, blending and boosts follow their formulas."""

from typing import Any
from uuid import UUID

import pytest

from app.query.search_types import Candidate, EntityMatch, Hit, Link, Term
from app.search.steps.entity_guidance import blending, entity_match_scores, query_aboutness
from app.search.steps.entity_guidance.query_aboutness import Evidence
from app.text.names.name_uses_in_queries import NameUse

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def match(entity_id: UUID, score: float, **fields: Any) -> EntityMatch:
    given = {"name": "Ana", "type": "person", "origin": "user", "matched_by": "name"} | fields
    return EntityMatch(entity_id, score=score, **given)


def hit(chunk_id: UUID, score: float, document_id: UUID = A) -> Hit:
    stored = (chunk_id, document_id, None, "", None, "", 0, 0, 0, (), {}, None)
    return Hit(Candidate(*stored, score, vector_rank=1), "medium", ())


def scores(hits: list[Hit]) -> dict[UUID, float]:
    return {hit.candidate.chunk_id: hit.candidate.score for hit in hits}


def test_descriptions_are_capped_at_080_and_ordered_by_their_uncapped_scores() -> None:
    scored = {
        A: entity_match_scores.description(0.75),
        B: entity_match_scores.description(0.95),
        C: entity_match_scores.description(0.2),
    }
    found = [match(entity_id, score, matched_by="description") for entity_id, score in scored.items()]
    assert [(m.entity_id, m.score) for m in entity_match_scores.best(found, limit=5)] == [(B, 0.8), (A, 0.8)]
    named = match(D, 0.9, matched_by="fuzzy")
    assert [m.entity_id for m in entity_match_scores.best([*found, named], limit=5)] == [D, B, A]


def test_facts_score_by_coverage_and_less_for_a_single_word() -> None:
    assert entity_match_scores.fact(1.0, 3) == pytest.approx(0.55)
    assert entity_match_scores.fact(0.8, 5) == pytest.approx(0.44)
    assert entity_match_scores.fact(1.0, 1) == pytest.approx(0.55 / 3)


def test_a_users_own_entity_replaces_an_automatic_one_of_that_name() -> None:
    found = [match(A, 1.0, origin="title", key="ana"), match(B, 1.0, key="ana"), match(C, 1.0, origin="title", key="x")]
    assert [m.entity_id for m in entity_match_scores.best(found, limit=5)] == [B, C]


def test_the_fallback_reason_depends_on_the_best_score_and_the_spread_of_a_full_list() -> None:
    sure = [match(A, 1.0), match(B, 0.6)]
    assert entity_match_scores.fallback_reason(sure, threshold=0.5, limit=5) is None
    assert entity_match_scores.fallback_reason([], threshold=0.5, limit=5) == "not_entity_centric"
    assert entity_match_scores.fallback_reason([match(A, 0.49)], threshold=0.5, limit=5) == "not_entity_centric"
    flat = [match(UUID(int=n), 0.80 - 0.02 * n) for n in range(5)]
    named = [match(UUID(int=n), 1.0, use=NameUse("word", (f"ana{n}",))) for n in range(5)]
    assert entity_match_scores.fallback_reason(named, threshold=0.5, limit=5) is None, "five names in one query"
    assert entity_match_scores.fallback_reason(flat, threshold=0.5, limit=5) == "too_broad"
    assert entity_match_scores.fallback_reason(flat[:4], threshold=0.5, limit=5) is None


def test_the_share_of_an_absent_name_is_at_most_1_with_synonyms_of_it() -> None:
    named = [match(A, 1.0, use=NameUse("word", ("zubieta",)))]
    synonyms = [Term(f"zubiet{end}", 0, 5.0, 0.5, is_added=True, is_alternative=True) for end in ("", "an", "as")]
    assert query_aboutness.absent_share(named, [Term("zubieta", 0, 5.0), *synonyms]) == 1.0
    most = [match(A, 1.0, aboutness=step / 997) for step in range(1, 997)]
    assert max(blending.weight([one], alpha=0.5, absent=1.0) for one in most) == 1.0


def test_rrf_scores_are_blended_as_a_power_mean_with_exponent_5() -> None:
    links = {A: Link(A, C, 1.0, 2.0)}
    blended = blending.blend([hit(A, 0.9, A), hit(B, 0.95, B)], links, weight=0.2, fusion="rrf")
    assert scores(blended) == pytest.approx({A: (0.8 * 0.9**5 + 0.2) ** 0.2, B: (0.8 * 0.95**5) ** 0.2})
    unweighted = blending.blend([hit(A, 0.9, A), hit(B, 0.95, B)], links, weight=0.0, fusion="rrf")
    assert scores(unweighted) == pytest.approx({A: 0.9, B: 0.95})
    assert blending.boost_factor(1, "rrf") == pytest.approx(1.1**0.2)


def test_documents_with_equal_links_that_the_search_did_not_find_are_ordered_by_vector_score() -> None:
    links = {one: Link(one, D, 1.0, 2.0) for one in (A, B)}
    far, near = hit(A, 0.0, A), Hit(hit(B, 0.0, B).candidate._replace(vector_score=0.4), "medium", ())
    assert [one.candidate.chunk_id for one in blending.blend([far, near], links, weight=0.5)] == [B, A]


def test_the_link_of_a_document_is_to_its_best_entity_weakened_if_it_is_weak() -> None:
    sure, unsure = match(C, 1.0, aboutness=0.8), match(D, 1.0, aboutness=0.4)
    strengths = {C: {A: 4.0}, D: {A: 4.0, B: 2.0}}
    assert blending.links([sure, unsure], strengths, [A, B, UUID(int=9)]) == {
        A: Link(A, C, 1.0, 8.0),
        B: Link(B, D, 0.5 * (0.5 + 0.5 * 2 / 4), 2.0),
    }


def test_the_weight_of_parents_is_the_largest_aboutness_times_the_rest_of_alpha() -> None:
    assert blending.weight([match(C, 1.0, aboutness=0.8), match(D, 1.0, aboutness=0.4)], alpha=0.5) == pytest.approx(
        0.4
    )
    assert blending.weight([match(C, 1.0, aboutness=0.8)], alpha=0.5, absent=0.5) == pytest.approx(0.4 / 0.7)
    assert blending.weight([match(C, 1.0, aboutness=0.8)], alpha=1.0, absent=1.0) == 0.0
    assert blending.weight([match(C, 1.0, aboutness=0.4)], alpha=1 - 2**-53, absent=1.0) == 1.0
    assert blending.weight([], alpha=0.5) == 0.0


def test_hits_to_keep_move_up_into_the_first_ten_and_scores_still_descend() -> None:
    hits = [hit(UUID(int=n), 1 - n / 100) for n in range(1, 21)]
    for chosen, first, then in (
        ({2, 13, 20}, [*range(1, 9), 13, 20], [9, 10, 11, 12, *range(14, 20)]),
        ({10, 13}, [*range(1, 9), 10, 13], [9, 11, 12, *range(14, 21)]),
    ):
        kept = blending.keep(hits, {UUID(int=n) for n in chosen})
        assert [h.candidate.chunk_id.int for h in kept] == [*first, *then]
        values = [h.candidate.score for h in kept]
        assert values == sorted(values, reverse=True)
    assert blending.keep(hits, {UUID(int=3)}) == hits


def test_boosted_hits_are_ordered_by_uncapped_scores_and_rise_by_the_reported_ranks() -> None:
    lifted = blending.boost([hit(A, 0.95), hit(B, 0.9), hit(C, 0.8)], {B: 2, C: 5}, {B: 1.2, C: 1.5})
    assert [h.candidate.chunk_id for h in lifted] == [C, B, A]
    assert scores(lifted) == pytest.approx({A: 0.95, B: 0.9 * 1.2, C: 0.8 * 1.5})
    assert [(h.boost.mentions, h.boost.moved) for h in lifted if h.boost] == [(5, 2), (2, 0)]
    steps = [h.explain["boost"] for h in lifted if h.explain]
    assert [(step["factor"], step["score_before"]) for step in steps] == [(1.5, 0.8), (1.2, 0.9)]


def evidence(use: NameUse, **fields: Any) -> Evidence:
    shares = {"share_of_query": 0.3, "share_of_corpus": 0.01, "share_of_candidates": 0.2}
    usual = {"automatic": False, "lead": 0.1, "written_small": 0.0, **shares}
    return Evidence(use, **(usual | fields))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (evidence(NameUse("full")), evidence(NameUse("word"))),
        (evidence(NameUse("word", case="capital")), evidence(NameUse("word"))),
        (evidence(NameUse("word")), evidence(NameUse("word", case="small"))),
        (evidence(NameUse("full")), evidence(NameUse("full", in_identifier=True))),
        (evidence(NameUse("full")), evidence(NameUse("full", has_neighbour=True))),
        (evidence(NameUse("full")), evidence(NameUse("full", is_address=True))),
        (evidence(NameUse("word")), evidence(NameUse("word", is_place=True))),
        (evidence(NameUse("full")), evidence(NameUse("full"), automatic=True)),
        (evidence(NameUse("full")), evidence(NameUse("full"), lead=-0.5)),
        (evidence(NameUse("full")), evidence(NameUse("full"), share_of_query=0.1)),
        (evidence(NameUse("full")), evidence(NameUse("full"), share_of_corpus=0.5)),
        (evidence(NameUse("full")), evidence(NameUse("full"), share_of_candidates=0.9)),
        (evidence(NameUse("full")), evidence(NameUse("full"), written_small=1.0)),
        (evidence(NameUse("topic")), evidence(NameUse("topic"), weak_meaning=0.3)),
        (evidence(NameUse("full")), evidence(NameUse("full"), metadata_lead=-0.4)),
        (evidence(NameUse("full")), evidence(NameUse("full"), from_metadata=True)),
    ],
)
def test_each_piece_of_evidence_changes_the_aboutness(better: Evidence, worse: Evidence) -> None:
    assert query_aboutness.probability(better) > query_aboutness.probability(worse)
