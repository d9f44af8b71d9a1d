"""Entities that a query refers to guide the search, and `fallback_reason` is set if they do not."""

import math
from typing import Any
from uuid import UUID

import harness
import linking
import pytest
from harness import Tenant, uris
from linking import asked, explained, found
from requests_of import search_request

from app.database.filter_types import Filters
from app.database.transactions import Database
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.search.steps.entity_guidance import blending
from app.search.steps.entity_guidance.entity_matching import EntityCache
from benchmarks.fake_embedder import FakeEmbedder

NOTES = {
    "ana-1": "# Buoys\n\nAna Torres calibrated the buoy batteries and wrote down what the charger drew.",
    "ana-2": "# Harbour\n\nThe harbour lights were rewired by Ana Torres before the storm came.",
    "ana-3": "# Minutes\n\nWe talked about tides. Anita will order new ropes.",
    "ben-1": "# Batteries\n\nBen Okafor calibrated the buoy batteries twice and noted the charge of those batteries.",
    "ben-2": "# Lights\n\nBen Okafor bought harbour lights, harbour paint and a harbour map.",
    "nobody": "# Lime\n\nBelow the third landing we use lime mortar and never cement.",
}

ANA = linking.person("Ana Torres", aliases=("Anita",))


@pytest.fixture
async def notes(tenant: Tenant) -> Tenant:
    await tenant.add_all(NOTES)
    return tenant


@pytest.fixture
async def ana(notes: Tenant) -> UUID:
    return (await linking.add_entities(notes, ANA))[0]


@pytest.fixture(scope="module")
async def known(database: Database) -> tuple[Tenant, UUID]:
    """The notes and the same person, of a user that no test changes."""
    tenant = Tenant(database)
    await tenant.add_all(NOTES)
    return tenant, (await linking.add_entities(tenant, ANA))[0]


async def test_a_query_about_a_person_is_answered_from_that_persons_documents(known: tuple[Tenant, UUID]) -> None:
    notes, ana = known
    answer = await asked(notes, "what did Ana Torres do with the buoy batteries?")
    assert (answer.search_mode, answer.fallback_reason, answer.query_type) == ("two_pass", None, "entity")
    assert [(match.entity_id, match.score, match.matched_by) for match in answer.entities] == [(ana, 1.0, "name")]
    assert uris(answer)[0] == "ana-1"
    assert set(uris(answer)[:3]) == {"ana-1", "ana-2", "ana-3"}
    one_mention = blending.link_factor(math.log(2))
    assert [hit.guidance.score for hit in answer.hits if hit.guidance] == pytest.approx([one_mention] * 3 + [0.0] * 2)


async def test_a_person_whose_name_is_written_without_spaces_guides_a_query(tenant: Tenant) -> None:
    await tenant.add_all({"a": "水泵报告由王小明编写。", "b": "仓库钥匙在王小明那里。", "c": "水泵仓库星期一开放。"})
    (person,) = await linking.add_entities(tenant, linking.person("王小明"))
    await linking.refresh(tenant)
    answer = await asked(tenant, "王小明负责什么水泵")
    assert [(match.entity_id, match.score, match.matched_by) for match in answer.entities] == [(person, 1.0, "name")]
    assert (answer.search_mode, set(uris(answer)[:2])) == ("two_pass", {"a", "b"})


async def test_an_alias_and_a_misspelt_name_match_the_entity(known: tuple[Tenant, UUID]) -> None:
    notes, _ana = known
    assert set(uris(await asked(notes, "anita"))[:3]) == {"ana-1", "ana-2", "ana-3"}
    misspelt = await asked(notes, "what has Ana Torrez done")
    assert (misspelt.search_mode, misspelt.entities[0].matched_by) == ("two_pass", "fuzzy")
    assert 0.6 <= misspelt.entities[0].score <= 0.95


async def test_scores_of_words_count_less_if_no_document_contains_the_name(notes: Tenant) -> None:
    await linking.add_entities(notes, linking.person("Ana Torres", aliases=("Zubieta",)))
    await linking.refresh(notes)
    answer = await asked(notes, "what did Zubieta do with the batteries?")
    assert set(uris(answer)[:2]) == {"ana-1", "ana-2"}
    notes.embedder = FakeEmbedder(dimension=notes.embedder.model.dimension, failing=True)
    by_words = await asked(notes, "what did Zubieta do with the batteries?")
    weights = [explained(one)["pass2"]["weight"] for one in (answer, by_words)]
    assert weights[0] + 0.1 < weights[1], "without vectors the text leg has the whole weight"


async def test_a_word_of_the_documents_is_not_a_misspelt_name(notes: Tenant) -> None:
    await linking.add_entities(notes, linking.person("Harbor"))
    answer = await asked(notes, "harbour paint")
    assert (answer.search_mode, answer.entities) == ("flat", ())


async def test_a_full_list_of_equal_scores_is_too_broad_unless_forced(notes: Tenant) -> None:
    await linking.add_entities(
        notes, *(linking.person(f"Ana {name}", aliases=("Ana",)) for name in ("Torres", "Ruiz", "Vega", "Soto", "Gil"))
    )
    broad = await asked(notes, "what has ana done?")
    assert (broad.search_mode, broad.fallback_reason) == ("flat", "too_broad")
    forced = await asked(notes, "what has ana done?", mode="force")
    assert (forced.search_mode, len(forced.entities)) == ("two_pass", 5)


async def test_an_entity_without_documents_does_not_guide(notes: Tenant) -> None:
    await linking.add_entities(notes, linking.person("Zoltan Kis"))
    answer = await asked(notes, "lime mortar by Zoltan Kis")
    assert (answer.search_mode, answer.fallback_reason) == ("flat", "no_linked_documents")


async def test_a_team_is_linked_to_its_members_documents_and_cycles_are_allowed(notes: Tenant, ana: UUID) -> None:
    team, crew = await linking.add_entities(
        notes, EntityDraft("team", "Quayside", members=(ana,)), EntityDraft("team", "Crew")
    )
    await entities.change(crew, {"members": (team,)}, notes.user_id, db=notes.db, embedder=notes.embedder)
    await entities.change(team, {"members": (ana, crew)}, notes.user_id, db=notes.db, embedder=notes.embedder)
    for name in ("Quayside", "Crew"):
        answer = await asked(notes, f"batteries of the team {name}")
        assert answer.search_mode == "two_pass"
        assert uris(answer)[0] == "ana-1"
        assert {hit.candidate.uri for hit in answer.hits if hit.guidance and hit.guidance.score} == {
            "ana-1",
            "ana-2",
            "ana-3",
        }


async def test_a_team_that_is_not_named_adds_no_members(notes: Tenant, ana: UUID) -> None:
    await linking.add_entities(notes, EntityDraft("team", "Harbour", members=(ana,)))
    meant = await asked(notes, "lights of the team Harbour")
    assert {match.matched_by for match in meant.entities} == {"name", "team"}
    answer = await asked(notes, "harbour lights in Gdynia")
    assert (answer.search_mode, answer.entities) == ("flat", ())


async def test_a_role_matches_the_person_who_has_it(notes: Tenant) -> None:
    await linking.add_entities(notes, linking.person("Ben Okafor", role="Head of Charging"))
    answer = await asked(notes, "what did the head of charging buy?")
    assert [(m.name, m.matched_by, m.score) for m in answer.entities] == [("Ben Okafor", "role", 0.6)]
    assert set(uris(answer)[:2]) == {"ben-1", "ben-2"}


async def test_facts_that_cover_the_question_match_their_entity(notes: Tenant) -> None:
    await linking.add_entities(
        notes, linking.person("Ben Okafor", facts=("Keeps the spare anchors in the northern shed",))
    )
    answer = await asked(notes, "who keeps spare anchors in the northern shed")
    assert [(m.name, m.matched_by) for m in answer.entities] == [("Ben Okafor", "fact")]
    assert answer.search_mode == "two_pass"


async def test_filters_and_exclusions_apply_inside_the_linked_documents(known: tuple[Tenant, UUID]) -> None:
    notes, _ana = known
    everything = await asked(notes, "Ana Torres", limit=50)
    by_uri = {hit.candidate.uri: hit.candidate for hit in everything.hits}
    only = Filters(document_ids=(by_uri["ana-2"].document_id, by_uri["ben-1"].document_id))
    narrowed = await found(notes, search_request("Ana Torres", filters=only))
    assert (narrowed.search_mode, uris(narrowed)) == ("two_pass", ["ana-2", "ben-1"])
    without = search_request("Ana Torres", limit=50, exclude_chunk_ids=(by_uri["ana-1"].chunk_id,))
    assert sorted(map(str, uris(await found(notes, without)))) == sorted(set(NOTES) - {"ana-1"})


@pytest.mark.parametrize("limit", [1, 3, 4, 6, 50])
async def test_an_answer_is_filled_up_to_the_limit_without_a_chunk_twice(known, limit) -> None:
    answer = await asked(known[0], "Ana Torres", limit=limit)
    assert len(answer.hits) == min(limit, len(NOTES)) == len({hit.candidate.chunk_id for hit in answer.hits})


async def test_a_vendor_from_metadata_guides_in_lower_case_and_each_mention_boosts_by_a_tenth_at_most_by_half(notes):
    await notes.add("# Order 7\n\nThe amplifiers arrived late.", "order", metadata={"vendor": "ProSource"})
    text = "# Note {0}\n\nRacks and cables. "
    await notes.add_all({f"note-{n}": text.format(n) + "ProSource sent some. " * n for n in (1, 3, 5, 9)})
    answer = await asked(notes, "what did prosource deliver late?")
    assert [(match.name, match.type, match.matched_by) for match in answer.entities] == [
        ("ProSource", "vendor", "name")
    ]
    assert (answer.search_mode, answer.fallback_reason) == ("two_pass", None)
    forced = await asked(notes, "ProSource racks and cables", limit=10, mode="force", alpha=1.0)
    factors = {hit.candidate.uri: hit.explain["boost"]["factor"] for hit in forced.hits if hit.explain and hit.boost}
    assert [factors[f"note-{mentions}"] for mentions in (1, 3, 5, 9)] == pytest.approx([1.1, 1.3, 1.5, 1.5])
    assert all(0 <= hit.candidate.score <= 1 for hit in forced.hits)


async def test_cached_matches_expire_with_the_next_change(notes: Tenant, ana: UUID) -> None:
    cache = EntityCache()
    assert (await asked(notes, "Ana Torres", cache=cache)).search_mode == "two_pass"
    await notes.add("Ana Torres learnt to splice.", "ana-4")
    assert "ana-4" in uris(await asked(notes, "Ana Torres", cache=cache))[:4]
    await entities.remove(ana, notes.user_id, db=notes.db)
    assert (await asked(notes, "Ana Torres", cache=cache)).entities == ()


async def test_entities_of_another_user_do_not_guide(known: tuple[Tenant, UUID], database: Any) -> None:
    cache = EntityCache()
    await asked(known[0], "Ana Torres", cache=cache)
    stranger = harness.Tenant(database)
    await stranger.add_all({"own": "Somebody called Ana Torres rang."})
    answer = await asked(stranger, "Ana Torres", cache=cache)
    assert (answer.search_mode, answer.entities, uris(answer)) == ("flat", (), ["own"])


async def test_scores_are_on_the_scale_of_the_unguided_search_however_many_documents_are_linked(tenant) -> None:
    await tenant.add_all({f"log-{n}": f"Ana Torres wrote entry {n} about weather." for n in range(230)})
    await tenant.add("Anchors in the harbour, by Ben Okafor.", "anchors")
    await linking.add_entities(tenant, linking.person("Ana Torres"))
    flat = await asked(tenant, "Ana Torres on entry 7", limit=50, mode="off", boost=False)
    guided = await asked(tenant, "Ana Torres on entry 7", limit=50, mode="force", boost=False)
    assert explained(guided)["pass2"]["linked_documents"] == 230
    before = {hit.candidate.chunk_id: hit.candidate.score for hit in flat.hits}
    found = [hit for hit in guided.hits if hit.candidate.chunk_id in before]
    assert len(found) > 10
    for hit in found:
        assert hit.guidance.doc_score == pytest.approx(before[hit.candidate.chunk_id])
    assert len(guided.hits) == 50


async def test_hits_have_a_relevance_where_links_are_all_that_counts(tenant: Tenant) -> None:
    await tenant.add_all({"ana": "# Ana Torres\n\nShe calibrates buoys.", "more": "# Ana Torres\n\nShe rows."})
    await linking.add_entities(tenant, ANA)
    answer = await asked(tenant, "Ana Torres calibrates buoys", mode="force", alpha=0.0)
    assert [hit.candidate.score for hit in answer.hits] == [1.0, 1.0]
    assert all(hit.relevance is not None for hit in answer.hits)


async def test_a_role_and_facts_are_found_by_meaning_and_not_by_questions_about_other_things(minilm_tenant) -> None:
    await minilm_tenant.add_all(NOTES)
    await linking.add_entities(
        minilm_tenant,
        linking.person("Ana Torres", role="head of billing", facts=("Signs off every customer bill.",)),
        linking.person("Ben Okafor", role="legal counsel", facts=("Reviews contracts.",)),
    )
    answer = await asked(minilm_tenant, "who looks after invoices?")
    assert [(match.name, match.matched_by) for match in answer.entities] == [("Ana Torres", "description")]
    assert answer.search_mode == "two_pass"
    flat = uris(await asked(minilm_tenant, "who looks after invoices?", mode="off"))
    assert all(uris(answer).index(uri) <= flat.index(uri) for uri in ("ana-1", "ana-2"))
    assert {hit.candidate.uri for hit in answer.hits if hit.guidance and hit.guidance.entity_id} == {"ana-1", "ana-2"}
    for question in ("who won the match yesterday?", "who broke the coffee machine?", "which lime mortar do we use?"):
        assert (await asked(minilm_tenant, question)).search_mode == "flat", question
