"""A search returns the right hits, degrades instead of failing, and explains its scores."""

from __future__ import annotations

from typing import Any

import harness
import pytest
from harness import Tenant, uris
from requests_of import search_request

from app.pipelines.documents import documents
from app.pipelines.requests.search_request import LegWeights
from app.pipelines.running.budget import Budget
from app.pipelines.search import search
from app.shapes import Filters
from benchmarks.fake_embedder import FakeEmbedder

SHELF = {
    "mortar": "# Mortar\n\nBelow the third landing we use lime mortar and never cement.",
    "buoys": "# Buoys\n\nThe Gannet buoy reports every eleven minutes to spare its battery.",
    "codes": "# Codes\n\nERR_TIDE_4012 means that the tide gauge answered too late.",
    "dog": "# Dog\n\nA dog is a loyal companion that likes long walks in the park.",
    "money": "# Money\n\nTravel expenses are refunded within ten working days.",
}


@pytest.fixture
async def shelf(tenant: Tenant) -> Tenant:
    await tenant.add_all(SHELF)
    return tenant


async def test_a_question_finds_its_passage_by_both_legs(shelf: Tenant) -> None:
    answer = await shelf.ask("lime mortar below the landing")
    first = answer.hits[0]
    assert uris(answer)[0] == "mortar"
    assert (first.candidate.vector_rank, first.candidate.text_rank) == (1, 1)
    assert answer.confidence == first.confidence == "very_high"
    assert set(answer.strategies_matched) >= {"vector", "text"}
    assert (answer.degraded, answer.relaxed, answer.approximate) == ((), (), False)
    assert (answer.search_mode, answer.fallback_reason) == ("flat", "not_entity_centric")


async def test_real_vectors_find_what_shares_no_word_with_the_question(minilm_tenant: Tenant) -> None:
    await minilm_tenant.add_all(SHELF)
    assert uris(await minilm_tenant.ask("puppies as pets", limit=1)) == ["dog"]
    assert uris(await minilm_tenant.ask("reimbursement of train tickets", mode="semantic", limit=1)) == ["money"]


async def test_the_text_leg_finds_an_identifier_by_its_parts(shelf: Tenant) -> None:
    await shelf.add("limit = min(chargeCeilingMv, 4_150)", "battery.py")
    for query in ("charge ceiling", "chargeCeilingMv", "ceiling"):
        assert uris(await shelf.ask(query, mode="lexical")) == ["battery.py"]


@pytest.mark.parametrize("limit", [1, 3, 5, 50])
async def test_an_answer_holds_as_many_hits_as_pass_up_to_the_limit(shelf: Tenant, limit: int) -> None:
    answer = await shelf.ask("buoy", limit=limit)
    assert len(answer.hits) == min(limit, len(SHELF))
    assert [hit.candidate.score for hit in answer.hits] == sorted(
        (h.candidate.score for h in answer.hits), reverse=True
    )


async def test_a_failing_embedder_is_reported_and_leaves_the_text_leg(shelf: Tenant) -> None:
    shelf.embedder = FakeEmbedder(failing=True)
    answer = await shelf.ask("lime mortar")
    assert uris(answer) == ["mortar"]
    assert set(answer.degraded) == {"embedding_failed", "no_query_vector"}
    found = answer.hits[0].candidate
    assert (found.vector_rank, found.vector_score, found.text_rank) == (None, None, 1)
    assert found.score == pytest.approx(1.0)
    assert answer.hits[0].confidence == "medium"


@pytest.mark.parametrize("vector", [[0.0] * 384, [float("nan")] * 384, [1.0] * 383, []])
async def test_a_useless_query_vector_is_a_failed_embedding(shelf: Tenant, vector: list[float]) -> None:
    shelf.embedder = harness.FixedQueryEmbedder(vector)
    answer = await shelf.ask("lime mortar")
    assert (uris(answer), answer.degraded) == (["mortar"], ("embedding_failed", "no_query_vector"))


async def test_a_hanging_embedder_is_given_up_and_the_text_leg_answers(shelf: Tenant) -> None:
    shelf.embedder = harness.HangingEmbedder()
    answer = await shelf.ask("lime mortar", budget=Budget(embed_s=0.01, whole_s=10))
    assert uris(answer) == ["mortar"]
    assert "embedding_failed" in answer.degraded


@pytest.mark.parametrize("query", ["the of and", "?!…", "🐕", "& | ! ( ) <-> :*"])
async def test_a_query_without_words_for_the_text_leg_is_answered_by_vector_and_reported(
    shelf: Tenant, query: str
) -> None:
    answer = await shelf.ask(query)
    assert len(answer.hits) == len(SHELF)
    assert answer.degraded == ("no_text_terms",)
    assert all(hit.candidate.text_rank is None and hit.candidate.text_score is None for hit in answer.hits)


async def test_the_modes_run_the_legs_that_they_name(shelf: Tenant) -> None:
    semantic, lexical = await shelf.ask("lime", mode="semantic"), await shelf.ask("lime", mode="lexical")
    assert {hit.strategies for hit in semantic.hits} == {("vector",)}
    assert all(hit.candidate.text_rank is None for hit in semantic.hits)
    assert uris(lexical) == ["mortar"]
    assert lexical.hits[0].candidate.vector_score is None
    assert (semantic.degraded, lexical.degraded) == ((), ())


async def test_a_mode_without_vectors_does_not_embed_the_query(shelf: Tenant) -> None:
    embedder = FakeEmbedder()
    shelf.embedder = embedder
    await shelf.ask("lime", mode="lexical")
    await shelf.ask("lime", weights=LegWeights(vector=0.0, text=1.0))
    assert embedder.queries == []


async def test_fusion_is_chosen_by_mode_unless_the_caller_chooses(shelf: Tenant) -> None:
    asked: list[dict[str, Any]] = [{}, {"mode": "hybrid"}, {"fusion": "rrf"}, {"mode": "hybrid", "fusion": "convex"}]
    assert [(await shelf.ask("lime", **how)).fusion for how in asked] == ["convex", "rrf", "rrf", "convex"]


async def test_scores_are_the_published_arithmetic(shelf: Tenant) -> None:
    answer = await shelf.ask("lime mortar", mode="hybrid", k=10, weights=LegWeights(vector=2.0, text=0.5))
    for hit in answer.hits:
        found = hit.candidate
        expected = (2.0 / (10 + found.vector_rank) if found.vector_rank else 0) + (
            0.5 / (10 + found.text_rank) if found.text_rank else 0
        )
        assert found.rrf_score == pytest.approx(2 / 2.5 * expected)
        assert found.score == pytest.approx(expected / (2.5 / 11))
        assert 0 <= found.score <= 1


WEAK, BY_MEANING = LegWeights(vector=0.2, text=0.1), LegWeights(vector=3.0, text=0.5)
HOW: list[dict[str, Any]] = [{}, *({"mode": mode} for mode in ("hybrid", "semantic", "lexical"))]


@pytest.mark.parametrize("how", [*HOW, {"fusion": "rrf"}, {"mode": "hybrid", "weights": WEAK}])
async def test_the_rrf_score_has_one_scale_in_every_mode(shelf: Tenant, how: dict[str, Any]) -> None:
    everything = (await shelf.ask("lime mortar", **how)).hits
    assert max(hit.candidate.rrf_score or 0.0 for hit in everything) == pytest.approx(2 / 61)
    found = await shelf.ask("lime mortar", min_rrf_score=0.032, **how)
    assert uris(found) == [hit.candidate.uri for hit in everything if (hit.candidate.rrf_score or 0.0) >= 0.032]
    assert found.hits


async def test_weights_move_the_order(shelf: Tenant) -> None:
    await shelf.add("tide tide tide gauge gauge gauge quarrel", "words")
    by_text = await shelf.ask("quarrel buoy gannet", mode="lexical")
    even = await shelf.ask("quarrel buoy gannet", mode="hybrid", weights=LegWeights(vector=0.0, text=3.0))
    assert uris(even) == uris(by_text)


@pytest.mark.parametrize("how", [{}, {"mode": "hybrid"}, {"mode": "hybrid", "weights": BY_MEANING, "k": 7}])
@pytest.mark.parametrize("query", ["lime mortar", "the of and", "quazzlewick"])
async def test_the_shares_of_an_explanation_add_up_to_the_rrf_score(
    shelf: Tenant, how: dict[str, Any], query: str
) -> None:
    answer = await shelf.ask(query, explain=True, **how)
    assert answer.hits
    for hit in answer.hits:
        assert hit.explain is not None
        legs = hit.explain["legs"]
        assert sum(leg["rrf_share"] for leg in legs.values()) == pytest.approx(hit.candidate.rrf_score)
        assert (legs["vector"]["rank"], legs["text"]["rank"]) == (hit.candidate.vector_rank, hit.candidate.text_rank)


async def test_a_relaxed_answer_is_explained_with_the_weights_that_it_was_given(shelf: Tenant) -> None:
    answer = await shelf.ask("quazzlewick", mode="lexical", explain=True)
    assert answer.relaxed == ("nearest_vectors",)
    for hit in answer.hits:
        assert hit.explain is not None
        shares = sum(leg["rrf_share"] for leg in hit.explain["legs"].values())
        assert shares == pytest.approx(hit.candidate.rrf_score)


async def test_an_explanation_names_terms_with_their_frequencies_and_the_plan(shelf: Tenant) -> None:
    answer = await shelf.ask('lime "never cement" -dog', explain=True)
    assert answer.explain is not None
    terms = {term["lexeme"]: term["df"] for term in answer.explain["terms"]}
    assert terms["lime"] == 1
    assert answer.explain["phrases"] == ["never cement"]
    assert answer.explain["excluded"] == ["dog"]
    assert answer.explain["vector_plan"] == "exact"
    assert answer.explain["chunks"] == len(SHELF)


async def test_without_explain_nothing_is_explained(shelf: Tenant) -> None:
    answer = await shelf.ask("lime")
    assert answer.explain is None
    assert all(hit.explain is None for hit in answer.hits)


@pytest.mark.parametrize("query", ['"gauge answered"', "ERR_TIDE_4012", "which codes are there"])
async def test_confidence_does_not_depend_on_how_much_text_is_returned(shelf: Tenant, query: str) -> None:
    await shelf.add(
        "Nothing was lost. " * 20 + "Then came ERR_TIDE_4012: the gauge answered, whatever the codes are.", "end"
    )
    sure = [[h.confidence for h in (await shelf.ask(query, detail=d)).hits] for d in ("ids", "compact", "full")]
    assert sure[0] == sure[1] == sure[2]
    assert sure[0][0] == "very_high"
    assert (sure[0][1] == "very_high") == ("codes are there" not in query)


@pytest.mark.parametrize(
    "query", ['"to be" castle', "+the castle", '"The Who" castle', "-the castle", "the AND castle"]
)
async def test_operators_on_stop_words_leave_the_text_leg_as_it_is(tenant: Tenant, query: str) -> None:
    await tenant.add_all({"castle": "The castle of Brandt stands on a rock.", "river": "A river flows."})
    answer = await tenant.ask(query, mode="lexical")
    assert (uris(answer), answer.relaxed) == (["castle"], ())


@pytest.mark.parametrize("query", ["ERR_40", "Error ERR_99 in 2024", "error ERR_TIDE_40 of the gauge"])
async def test_a_query_with_an_identifier_is_certain_of_nothing_that_lacks_it(tenant: Tenant, query: str) -> None:
    await tenant.add_all({"long": "Error ERR_4012 and ERR_TIDE_4012 of the gauge in 2024.", "other": "In 2024: peace."})
    hits = (await tenant.ask(query)).hits
    assert hits
    assert "very_high" not in {hit.confidence for hit in hits}
    assert not any("identifier" in hit.strategies for hit in hits)


async def test_an_identifier_in_a_heading_counts(tenant: Tenant) -> None:
    sections = [f"## {code}\n\n{'The gauge does not answer. ' * 60}" for code in ("ERR_40", "ERR_41")]
    await tenant.add("\n\n".join(["# Codes", *sections]), "codes")
    first = (await tenant.ask("gauge ERR_40")).hits[0]
    assert ("identifier" in first.strategies, first.confidence) == (True, "very_high")


async def test_confidence_names_how_the_legs_agree(shelf: Tenant) -> None:
    question = await shelf.ask("what does the dog like to do in the evening", mode="semantic")
    assert [hit.confidence for hit in question.hits] == ["high"] * len(SHELF)
    assert {hit.confidence for hit in (await shelf.ask("dog", mode="lexical")).hits} == {"medium"}


async def test_the_least_confidence_drops_hits_that_are_less_sure(shelf: Tenant) -> None:
    assert len((await shelf.ask("lime", min_confidence="medium")).hits) == len(SHELF)
    assert uris(await shelf.ask("lime", min_confidence="very_high")) == ["mortar"]


async def test_the_least_vector_score_drops_hits_that_have_none(shelf: Tenant) -> None:
    answer = await shelf.ask("lime mortar", min_vector_score=0.2)
    assert answer.hits
    assert all((hit.candidate.vector_score or 0) >= 0.2 for hit in answer.hits)
    too_high = await shelf.ask("lime mortar", min_vector_score=0.9999)
    assert (too_high.hits, too_high.fallback_reason) == ((), "below_thresholds")


async def test_excluded_chunks_are_returned_by_neither_leg(shelf: Tenant) -> None:
    seen: list[Any] = []
    for left in range(len(SHELF), 0, -1):
        answer = await shelf.ask("lime mortar", exclude_chunk_ids=tuple(seen), limit=50)
        assert len(answer.hits) == left
        assert not {hit.candidate.chunk_id for hit in answer.hits} & set(seen)
        seen.append(answer.hits[0].candidate.chunk_id)
    assert (await shelf.ask("lime mortar", exclude_chunk_ids=tuple(seen))).fallback_reason == "filters_exclude_all"


async def test_filters_apply_and_are_not_relaxed(shelf: Tenant) -> None:
    stored = await shelf.add(
        "Lime with a note.", "noted", metadata={"team": "masonry", "year": 2024, "on": "2024-05-06"}
    )
    for metadata in ({"team": "masonry"}, {"year": {"gte": 2024, "lt": 2025}}, {"on": {"gt": "2024-05-05T23:00:00Z"}}):
        assert uris(await shelf.ask("lime", filters=Filters(metadata=metadata))) == ["noted"]
    assert uris(await shelf.ask("dog", filters=Filters(document_ids=(stored.document_id,)))) == ["noted"]
    answer = await shelf.ask("lime", filters=Filters(metadata={"team": "nobody"}))
    assert (answer.hits, answer.fallback_reason, answer.relaxed) == ((), "filters_exclude_all", ())


async def test_a_user_without_documents_gets_the_reason_no_documents(tenant: Tenant) -> None:
    answer = await tenant.ask("lime")
    assert (answer.hits, answer.fallback_reason, answer.confidence) == ((), "no_documents", None)


async def test_users_only_find_their_own_documents(tenant: Tenant, shelf: Tenant) -> None:
    other = harness.Tenant(tenant.db)
    await other.add("Lime mortar of somebody else.", "theirs")
    assert "theirs" not in uris(await shelf.ask("lime mortar", limit=50))
    assert uris(await other.ask("lime mortar", limit=50)) == ["theirs"]


async def test_composed_and_decomposed_letters_find_the_same(tenant: Tenant) -> None:
    await tenant.add_all({"composed": "Café Zürich opens early.", "decomposed": "Cafe\u0301 Zu\u0308rich closes late."})
    composed = await tenant.ask("café Zürich", limit=10)
    decomposed = await tenant.ask("cafe\u0301 Zu\u0308rich", limit=10)
    assert [(h.candidate.chunk_id, h.candidate.score) for h in composed.hits] == [
        (h.candidate.chunk_id, h.candidate.score) for h in decomposed.hits
    ]
    assert {h.candidate.text_rank for h in composed.hits} == {1, 2}


@pytest.mark.parametrize(
    "query",
    [
        'foo & | !( "unclosed <-> :*',
        " ".join(f"word{number}" for number in range(200)),
        "x" * 2000,
        "'; DROP TABLE stepwell.chunks; --",
        "\u202eright to left\u202c " + "z\u0301" * 500,
        "\U000e0041\U000e0042 hidden",
        "%s {0} $1 :user_id",
        "-lime -dog",
        '"" "" -""',
    ],
)
async def test_no_query_however_odd_breaks_the_search(shelf: Tenant, query: str) -> None:
    assert len((await shelf.ask(query)).hits) <= 5
    assert (await documents.stats(shelf.user_id, db=shelf.db)).documents == len(SHELF)


async def test_timings_name_the_stages(shelf: Tenant) -> None:
    timings = (await shelf.ask("lime")).timings
    assert set(timings) == {"embed", "pass1", "recall", "total"}
    assert timings["total"] >= timings["embed"] + timings["recall"] - 0.01


async def test_the_query_is_embedded_without_its_operators(shelf: Tenant) -> None:
    embedder = FakeEmbedder()
    shelf.embedder = embedder
    await shelf.ask('+lime "never cement" -dog')
    assert embedder.queries == ["lime never cement"]


async def test_a_second_page_is_what_exclusion_leaves(shelf: Tenant) -> None:
    everything = uris(await shelf.ask("lime", limit=50))
    first = await shelf.ask("lime", limit=2)
    seen = tuple(hit.candidate.chunk_id for hit in first.hits)
    rest = uris(await shelf.ask("lime", limit=50, exclude_chunk_ids=seen))
    assert sorted(map(str, uris(first) + rest)) == sorted(map(str, everything))


async def test_an_unknown_chunk_in_the_exclusions_changes_nothing(shelf: Tenant) -> None:
    other = await harness.Tenant(shelf.db).add("lime", "theirs")
    query = search_request("lime", exclude_chunk_ids=(other.document_id,))
    answer = await search.run(query, shelf.user_id, shelf.services())
    assert uris(answer) == uris(await shelf.ask("lime"))


SIGNS = {
    "tar": "Unpack the backup with tar -xzf backup.tar.gz on the pump host.",
    "roof": "Roof tar is applied hot in two layers on the boathouse, -quay excluded.",
    "quay": "The quay has a backup pump.",
}


@pytest.mark.parametrize(
    ("query", "excluded", "first"), [("tar -xzf backup", (), "tar"), ("tar -quay", ("quay",), None)]
)
async def test_a_word_that_texts_contain_with_its_sign_only_is_searched_for(
    tenant: Tenant, query: str, excluded: tuple[str, ...], first: str | None
) -> None:
    await tenant.add_all(SIGNS)
    answer = await tenant.ask(query)
    assert answer.excluded == excluded
    assert first is None or uris(answer)[0] == first
    assert not set(excluded) & set(uris(answer))
