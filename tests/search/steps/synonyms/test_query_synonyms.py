"""A user's synonyms are searched beside the words of a query, with half the weight, in every mode with a text leg."""

from typing import Any

import fuzz_service
import httpx
import pytest
from harness import Tenant, uris
from hypothesis import given
from hypothesis import strategies as st

from app.database.filter_types import Filters
from app.database.transactions import Database
from app.search.steps.synonyms import synonym_lines, synonyms
from app.search.steps.synonyms.synonym_lines import SynonymGroup

GROUPS = [
    SynonymGroup(("boiler", "furnace", "heating unit")),
    SynonymGroup(("cash flow", "liquidity")),
    SynonymGroup(("vehicle",), ("lorry",)),
    SynonymGroup(("Heizung", "Kesselanlage")),
    SynonymGroup(("abbey", "monastery")),
]
TEXTS = {
    "boiler": "The boiler of the north wing was serviced in spring.",
    "furnace": "The furnace of the south wing was serviced in spring.",
    "unit": "The heating units of the east wing were serviced in spring.",
    "apart": "The unit for heating the west wing was serviced in spring.",
    "flow": "Our cash flow of the last quarter was good.",
    "liquid": "Our liquidity of the last quarter was good.",
    "vehicle": "The vehicle stands in the yard.",
    "lorry": "The lorry stands in the yard.",
}


@pytest.fixture(scope="module")
async def house(database: Database) -> Tenant:
    """A user with texts in two languages and synonyms."""
    tenant = Tenant(database)
    await tenant.add_all(TEXTS)
    await tenant.add("Die Kesselanlagen wurden gewartet.", "deutsch", language="de")
    await synonyms.put(tenant.user_id, GROUPS, db=database)
    return tenant


async def found(tenant: Tenant, query: str, **fields: Any) -> dict[str | None, float]:
    """The score of each hit in the text leg by uri."""
    answer = await tenant.ask(query, mode="lexical", limit=20, **fields)
    return {hit.candidate.uri: hit.candidate.text_score or 0.0 for hit in answer.hits}


@pytest.mark.parametrize(
    ("query", "exact", "wanted"),
    [
        ("boilers", "boiler", {"furnace", "unit"}),
        ("furnace", "furnace", {"boiler", "unit"}),
        ("heating units", "unit", {"boiler", "furnace"}),
        ("cash flow", "flow", {"liquid"}),
        ("liquidity", "liquid", {"flow"}),
        ("vehicles", "vehicle", {"lorry"}),
        ("lorry", "lorry", set()),
        ("Heizungen", None, {"deutsch"}),
    ],
)
async def test_a_synonym_is_found_below_the_word_itself(house, query, exact, wanted) -> None:
    scores = await found(house, query)
    if query == "heating units":
        assert scores.pop("apart") > scores["boiler"], "it has both words, apart from each other"
    assert set(scores) == wanted | ({exact} if exact else set())
    assert not exact or all(scores[exact] > scores[uri] for uri in wanted)


async def test_the_answer_explains_synonyms(house: Tenant) -> None:
    for mode in ("auto", "hybrid", "lexical"):
        explain = (await house.ask("boilers and cash flow", mode=mode, explain=True)).explain
        assert explain["synonyms"] == {"boiler": ["furnace", "heating unit"], "cash flow": ["liquidity"]}
        terms = {term["lexeme"]: term for term in explain["terms"]}
        added = {name for name, term in terms.items() if term["times"] == 0.5}
        assert added == {"furnac", "heat unit", "liquid", "liquidity"}, "the last in German"
        assert terms["furnac"]["idf"] <= terms["boiler"]["idf"]
        assert terms["heat unit"]["df"] == 1
        assert explain["corrections"] == {}
    semantic = (await house.ask("boilers", mode="semantic", explain=True)).explain
    assert semantic["synonyms"] == {}


async def test_conditions_filters_snippets_and_hops_keep_synonyms(house: Tenant) -> None:
    assert set(await found(house, "boilers -furnace")) == {"boiler", "unit"}
    assert set(await found(house, "+boilers")) == {"boiler"}, "a condition is met by the word as it is written"
    assert set(await found(house, "boilers AND (wing OR yard)")) == {"boiler"}
    answer = await house.ask("boilers", mode="lexical", detail="compact")
    assert all(hit.snippet and hit.snippet.matches for hit in answer.hits), "the words of synonyms are marked"
    hops = await house.ask("boilers", mode="lexical", depth="thorough")
    assert {"boiler", "furnace", "unit"} <= set(uris(hops))
    only = Filters(document_ids=(answer.hits[-1].candidate.document_id,))
    assert len(await found(house, "boilers", filters=only)) == 1


async def test_an_unknown_word_with_synonyms_is_no_typing_error(house: Tenant) -> None:
    await house.add("The abbeys and the money of the diocese, and a monasterie.", "near")
    answer = await house.ask("monastery", mode="lexical")
    assert (uris(answer), answer.relaxed) == (["near"], ())


async def test_synonyms_belong_to_one_user(database: Database) -> None:
    one, other = Tenant(database), Tenant(database)
    for tenant in (one, other):
        await tenant.add("The furnace burns.", "furnace")
    await synonyms.put(one.user_id, GROUPS, db=database)
    relaxed = [(await tenant.ask("boiler", mode="lexical")).relaxed for tenant in (one, other)]
    assert relaxed == [(), ("nearest_vectors",)]
    assert await synonyms.get(other.user_id, db=database) == []


TERM = st.text(st.characters(exclude_categories=("Zs", "Zl", "Zp", "Cc", "Cs")), min_size=1).filter(str.strip)
TERMS = st.lists(TERM, min_size=1, max_size=3).map(tuple)


def test_lines_are_groups_with_terms_and_after_an_arrow_their_expansions() -> None:
    text = (
        "\ufeff# heating\nboiler,  furnace , heating  unit,\n\n vehicle, van=>car\nC\\, C\\# , a \\=> b\n\\#1, first\n"
    )
    assert list(synonym_lines.read(text)) == [
        (2, SynonymGroup(("boiler", "furnace", "heating unit"))),
        (4, SynonymGroup(("vehicle", "van"), ("car",))),
        (5, SynonymGroup(("C, C#", "a => b"))),
        (6, SynonymGroup(("#1", "first"))),
    ]


@given(st.lists(st.builds(SynonymGroup, TERMS, TERMS | st.just(()))))
def test_what_is_written_is_read_again(groups: list[SynonymGroup]) -> None:
    assert [group for _, group in synonym_lines.read(synonym_lines.write(groups))] == groups


def test_a_query_contains_a_term_whose_lexemes_it_has_at_the_same_distances() -> None:
    query = {"state": [1, 9], "art": [4], "gallery": [5]}
    assert synonyms.contains(("state", "art"), (0, 3), query)
    assert not synonyms.contains(("state", "art"), (0, 1), query)
    assert not synonyms.contains(("state", "museum"), (0, 1), query)
    assert synonyms.contains(("gallery",), (0,), query)


def _store_and_search(client: httpx.Client) -> None:
    most = range(synonym_lines.MAX_TERMS)
    groups = [
        {"terms": [f"word{n} of kind {k}" for k in most], "expand_to": [f"term {n} {k}" for k in most]}
        for n in range(synonym_lines.MAX_GROUPS)
    ]
    client.put("/synonyms", json={"groups": groups}).raise_for_status()
    client.post("/search", json={"query": "word7 of kind 3 and lime"}).raise_for_status()


def test_the_most_groups_do_not_hold_the_event_loop(address: Any) -> None:
    costliest = fuzz_service.costliest(address.service_dsn, _store_and_search)
    assert costliest["ms"] <= costliest["most_ms"], costliest["stack"]
