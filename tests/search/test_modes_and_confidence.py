"""A search degrades instead of failing, runs and fuses the legs of its mode, and is only as sure as its hits allow."""

import logging
from dataclasses import replace
from typing import Any

import harness
import pytest
from harness import Tenant, uris

from app.database import filters, transactions
from app.database.filter_types import Filters
from app.documents.types import Upload
from app.enums import Mode
from app.query.search_request import LegWeights
from app.search import search
from app.services import Budget, Services
from benchmarks.fake_embedder import FakeEmbedder

SHELF = {
    "mortar": "# Mortar\n\nBelow the third landing we use lime mortar and never cement.",
    "buoys": "# Buoys\n\nThe Gannet buoy reports every eleven minutes to spare its battery.",
    "codes": "# Codes\n\nERR_TIDE_4012 means that the tide gauge answered too late.",
    "dog": "# Dog\n\nA dog is a loyal companion that likes long walks in the park.",
    "money": "# Money\n\nTravel expenses are refunded within ten working days.",
}


stored = harness.stored(SHELF)


@pytest.fixture
def shelf(stored: Tenant) -> Tenant:
    """The user of the shelf, whose embedder a test may replace."""
    return replace(stored)


USELESS = ([0.0] * 384, [float("nan")] * 384, [1.0] * 383, [])


@pytest.mark.parametrize(
    "embedder",
    [FakeEmbedder(failing=True), harness.HangingEmbedder(), *map(harness.FixedQueryEmbedder, USELESS)],
    ids=["failing", "hanging", "zero", "not a number", "too short", "empty"],
)
async def test_an_embedder_without_a_useful_vector_is_reported_and_leaves_the_text_leg(shelf, embedder) -> None:
    shelf.embedder = embedder
    embed_s = 0.01 if isinstance(embedder, harness.HangingEmbedder) else Budget().embed_s
    answer = await shelf.ask("lime mortar", budget=Budget(embed_s=embed_s, whole_s=10))
    assert (uris(answer), answer.degraded) == (["mortar"], ("embedding_failed", "no_query_vector"))
    found = answer.hits[0].candidate
    assert (found.vector_rank, found.vector_score, found.text_rank) == (None, None, 1)
    assert found.score == pytest.approx(1.0)


async def test_without_a_vector_a_word_that_no_text_has_is_not_blamed_on_the_filters(shelf: Tenant) -> None:
    shelf.embedder = FakeEmbedder(failing=True)
    filters = {"created_after": "2020-01-01"}
    assert (await shelf.ask("lime", filters=filters)).hits
    assert (await shelf.ask("zeppelin", filters=filters)).fallback_reason == "nothing_found"


async def test_the_modes_run_the_legs_that_they_name(shelf: Tenant) -> None:
    semantic, lexical = await shelf.ask("lime", mode="semantic"), await shelf.ask("lime", mode="lexical")
    assert {hit.strategies for hit in semantic.hits} == {("vector",)}
    assert all(hit.candidate.text_rank is None for hit in semantic.hits)
    assert uris(lexical) == ["mortar"]
    assert lexical.hits[0].candidate.vector_score is None
    assert (semantic.degraded, lexical.degraded) == ((), ())


async def test_words_that_are_not_indexed_are_reported_unless_nothing_is_stored(tenant: Tenant) -> None:
    empty = await tenant.ask("lime")
    assert (empty.degraded, empty.fallback_reason) == ((), "no_documents")
    await tenant.add("Lime mortar sets slowly.", "mortar")
    assert [(await tenant.ask(text)).degraded for text in ("lime", "the of")] == [(), ("no_text_terms",)]


async def test_only_a_query_for_vectors_is_embedded_and_without_its_operators(shelf: Tenant) -> None:
    embedder = FakeEmbedder()
    shelf.embedder = embedder
    await shelf.ask("lime", mode="lexical")
    await shelf.ask("lime", weights=LegWeights(vector=0.0, text=1.0))
    await shelf.ask('+lime "never cement" -dog')
    assert embedder.queries == ["lime never cement"]


async def test_fusion_is_chosen_by_mode_unless_the_caller_chooses(shelf: Tenant) -> None:
    asked: list[dict[str, Any]] = [{}, {"mode": "hybrid"}, {"fusion": "rrf"}, {"mode": "hybrid", "fusion": "convex"}]
    assert [(await shelf.ask("lime", **how)).fusion for how in asked] == ["convex", "rrf", "rrf", "convex"]


WEAK, BY_MEANING = LegWeights(vector=0.2, text=0.1), LegWeights(vector=3.0, text=0.5)
HOW: list[dict[str, Any]] = [{}, *({"mode": mode} for mode in ("hybrid", "semantic", "lexical"))]


@pytest.mark.parametrize("how", [*HOW, {"fusion": "rrf"}, {"mode": "hybrid", "weights": WEAK}])
async def test_the_rrf_score_has_one_scale_in_every_mode(shelf: Tenant, how: dict[str, Any]) -> None:
    everything = (await shelf.ask("lime mortar", **how)).hits
    assert max(hit.candidate.rrf_score or 0.0 for hit in everything) == pytest.approx(2 / 61)
    found = await shelf.ask("lime mortar", min_rrf_score=0.032, **how)
    assert uris(found) == [hit.candidate.uri for hit in everything if (hit.candidate.rrf_score or 0.0) >= 0.032]
    assert found.hits


@pytest.mark.parametrize("query", ['"gauge answered"', "ERR_TIDE_4012", "which codes are there"])
async def test_confidence_does_not_depend_on_how_much_text_is_returned(tenant: Tenant, query: str) -> None:
    end = "Nothing was lost. " * 20 + "Then came ERR_TIDE_4012: the gauge answered, whatever the codes are."
    await tenant.add_all({**SHELF, "end": end})
    sure = [[h.confidence for h in (await tenant.ask(query, detail=d)).hits] for d in ("ids", "compact", "full")]
    assert sure[0] == sure[1] == sure[2]


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
    assert "identifier" in first.strategies


async def test_the_least_confidence_drops_hits_that_are_less_sure(shelf: Tenant) -> None:
    every, least = await shelf.ask("lime"), await shelf.ask("lime", min_confidence="low")
    assert uris(least) == uris(every)
    assert every.confidence is not None
    assert uris(await shelf.ask("lime", min_confidence=every.confidence)) == ["mortar"]


SIGNS = {
    "tar": "Unpack the backup with tar -xzf backup.tar.gz on the pump host.",
    "roof": "Roof tar is applied hot in two layers on the boathouse, -quay excluded.",
    "quay": "The quay has a backup pump at its wall.",
    "Gannet": "The firmware of a Gannet pump is built with gcc -Wall.",
}


@pytest.mark.parametrize(
    ("query", "excluded", "first"),
    [
        ("tar -xzf backup", (), "tar"),
        ("tar -quay", ("quay",), None),
        ("gcc -Wall", (), "Gannet"),
        ("pump -Gannet", ("Gannet",), "quay"),
    ],
)
async def test_a_word_that_texts_contain_with_its_sign_only_is_searched_for(tenant, query, excluded, first) -> None:
    await tenant.add_all(SIGNS)
    answer = await tenant.ask(query)
    assert answer.excluded == excluded
    assert first is None or uris(answer)[0] == first
    assert not set(excluded) & set(uris(answer))


LINKS = [
    Upload("https://tide.example.org/gauges and https://help.example.org/page: see the general help.", uri="links"),
    Upload("The tide gauge is read at noon. A gauge that is silent is reset.", uri="gauge"),
    Upload("Ayrıntılar: https://arsivler.example.org/kayitlar adresine bakın.", uri="Turkish", language="tr"),
]


@pytest.mark.parametrize(
    ("address", "relaxed"),
    [
        ("https://forum.example.com/general/help/48213?page=2", ("unknown_address",)),
        ("https://---.\x00/ https://\ufdfa.\u200b/", ("unknown_address",)),
        ("https://www.tide.example.org/other", ()),
        ("https://arsivler.example.org", ()),
    ],
)
async def test_an_address_on_a_host_that_no_text_names_is_left_out(tenant, address, relaxed) -> None:
    await tenant.add_all(LINKS)
    plain = await tenant.ask("when is the gauge read?")
    answer = await tenant.ask(f"{address} when is the gauge read?")
    assert answer.relaxed == relaxed
    if relaxed:
        assert (uris(answer), answer.answerable) == (uris(plain), plain.answerable)


async def test_a_restricted_caller_does_not_learn_which_hosts_hidden_texts_name(tenant: Tenant) -> None:
    await tenant.add_all(LINKS)
    tenant.db = tenant.db.restricted(filters.restriction(Filters(negated=Filters(uri_prefix="links"))))
    assert (await tenant.ask("https://tide.example.org when is the gauge read?")).relaxed == ("unknown_address",)


async def test_an_unavailable_database_does_not_fail_the_warmup(caplog: pytest.LogCaptureFixture) -> None:
    away = Services(
        transactions.connect("postgresql://stepwell@/stepwell?host=/nonexistent/socket/folder"), FakeEmbedder()
    )
    with caplog.at_level(logging.WARNING):
        await search.warm_up(away, concurrent=2)
    assert "warmup_failed" in [getattr(record, "action", None) for record in caplog.records]


TWO = {
    "scattered": "Ferries leave the pier. The lantern is lit. The keeper sleeps. Oil is dear. It is noon.",
    "sentence": "The keeper of the pier fills the lantern with oil at noon. Boats pass, and a wind blows from the sea.",
}


@pytest.mark.parametrize(("mode", "first"), [("auto", "sentence"), ("hybrid", "scattered"), ("lexical", "scattered")])
async def test_of_the_best_two_the_one_with_the_query_in_one_sentence_is_first(tenant, mode: Mode, first: str) -> None:
    await tenant.add_all({**TWO, **{f"other {number}": f"Bread and salt {number}." for number in range(3)}})
    answer = await tenant.ask("keeper lantern oil noon pier", mode=mode, explain=True)
    two = [hit.candidate for hit in answer.hits[:2]]
    assert {one.uri for one in two} == TWO.keys()
    assert (two[0].uri, two[0].score > two[1].score) == (first, True)
    steps = [(hit.explain or {}).get("closer", {}) for hit in answer.hits[:2]]
    assert [step.get("place_before") for step in steps] == ([2, 1] if mode == "auto" else [None, None])
