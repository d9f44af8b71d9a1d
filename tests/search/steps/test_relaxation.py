"""A query that matches nothing is relaxed step by step, and the answer names the step."""

from typing import Any

import harness
import pytest
from harness import Tenant, counted_statements, uris

from app.database import filters
from app.database.filter_types import Filters
from app.documents.types import Upload
from benchmarks.fake_embedder import FakeEmbedder

words = harness.stored({"lime": "lime mortar", "boat": "harbour ferry timetable", "bird": "gannet colony"})


def _deaf(tenant: Tenant) -> Tenant:
    """The same with an embedder that fails, so that the text leg stands alone."""
    return Tenant(tenant.db, FakeEmbedder(failing=True), tenant.user_id)


@pytest.mark.parametrize("query", ['"mortar lime" ferry', "+mortar +ferry", '"never written" mortar', "mortar -lime"])
async def test_unsatisfied_constraints_are_dropped_and_reported(words: Tenant, query: str) -> None:
    answer = await _deaf(words).ask(query)
    assert "lime" in uris(answer)
    assert answer.relaxed == ("constraints_dropped",)


@pytest.mark.parametrize("query", ["harbor", "harbuor", "gannett colnoy", "timetabel"])
async def test_misspelt_words_are_corrected_and_reported(words: Tenant, query: str) -> None:
    answer = await words.ask(query, mode="lexical")
    assert uris(answer) == ["bird" if "gannett" in query else "boat"]
    assert answer.relaxed == ("similar_words",)
    assert answer.degraded == ()


async def test_the_nearest_vectors_are_the_last_relaxation(words: Tenant) -> None:
    answer = await words.ask("quazzlewick", mode="lexical", limit=50)
    assert len(answer.hits) == 3
    assert answer.relaxed == ("nearest_vectors",)
    assert answer.degraded == ()
    assert {hit.confidence for hit in answer.hits} == {"low"}


async def test_without_words_and_vector_the_answer_is_empty_with_a_reason(words: Tenant) -> None:
    answer = await _deaf(words).ask("quazzlewick")
    assert (answer.hits, answer.fallback_reason) == ((), "nothing_found")
    assert "embedding_failed" in answer.degraded


async def test_what_found_something_is_not_relaxed(words: Tenant) -> None:
    for query in ("lime", '"lime mortar"', "+lime", "lime -ferry"):
        assert (await words.ask(query)).relaxed == ()


@pytest.mark.parametrize("mode", ["auto", "hybrid", "lexical", "semantic"])
async def test_a_condition_that_no_chunk_meets_is_dropped_and_reported_in_every_mode(words: Tenant, mode: Any) -> None:
    answer = await words.ask('"green lever" mortar -ferry', mode=mode)
    assert answer.relaxed == ("constraints_dropped",)
    assert uris(answer)[0] == "lime", "the other words are searched as if the phrase were not there"
    assert "boat" not in uris(answer), "excluded words stay excluded"


bakery = harness.stored(
    {
        "contract": "The croissant delivery contract.",
        "boiler": "Cormorant boiler price list.",
        "codes": "Part KX-4471 replaces part KX-4417; see delivery_plan.py and version 1.20.3.",
        "other": "Price of the plan, by part and version.",
    }
)


@pytest.mark.parametrize("mode", ["auto", "hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "uri", "corrections"),
    [
        ("croissnat delivry contract", "contract", {"croissnat": ["croissant"], "delivry": ["deliveri"]}),
        ("Cormorannt boyler price", "boiler", {"cormorannt": ["cormor"], "boyler": ["boiler"]}),
    ],
)
async def test_typing_errors_are_corrected_although_something_is_found(bakery, mode, query, uri, corrections) -> None:
    answer = await bakery.ask(query, mode=mode, explain=True)
    assert (uris(answer)[0], answer.relaxed) == (uri, ("similar_words",))
    assert answer.explain["corrections"] == corrections
    counted = {term["lexeme"]: term["times"] for term in answer.explain["terms"]}
    assert {counted[lexeme] for lexemes in corrections.values() for lexeme in lexemes} == {0.5}
    again = await bakery.ask(query, mode=mode, limit=1)
    assert uris(await bakery.ask(query, mode=mode, limit=1, cursor=again.next_cursor)) == [uris(answer)[1]] or not (
        again.next_cursor
    )


@pytest.mark.parametrize(
    "query", ["KX-4472 part", "1.20.4 version", "delivry_plan.py plan", '"croissnat" contract', "+croissnat contract"]
)
async def test_identifiers_and_what_is_required_are_not_corrected(bakery: Tenant, query: str) -> None:
    answer = await bakery.ask(query, explain=True)
    assert "similar_words" not in answer.relaxed
    assert answer.explain["corrections"] == {}


async def test_a_prefix_is_corrected_only_if_no_passage_meets_it(bakery: Tenant) -> None:
    await bakery.add_all({"lights": "The floodlight of the yard.", "floor": "The floor of the yard."})
    assert (await bakery.ask("flood* yard")).relaxed == ()
    assert (await bakery.ask("flooor* yard")).relaxed == ("constraints_dropped", "similar_words")


async def test_a_word_with_many_neighbours_is_not_corrected(bakery: Tenant) -> None:
    await bakery.add("infect inject insert inspect", "neighbours")
    answer = await bakery.ask("insect contract", explain=True)
    assert answer.explain["corrections"] == {}


async def test_no_correction_of_a_word_counts_more_than_the_commonest_one(tenant: Tenant) -> None:
    shoes = [Upload(f"running shoes {number}", uri=f"{number}") for number in range(9)]
    await tenant.many([*shoes, Upload("pruning shears", uri="shears")])
    answer = await tenant.ask("runing", mode="lexical", explain=True)
    idf = {term["lexeme"]: term["idf"] for term in answer.explain["terms"]}
    assert idf["prune"] == pytest.approx(idf["run"])


async def test_a_stop_word_of_one_language_is_not_corrected_where_documents_have_others(tenant: Tenant) -> None:
    french = Upload("Le contrat de livraison attend au fournil.", language="fr")
    await tenant.add_all([french, Upload("The croissant contract."), Upload("They ate a bite and befogged the gain.")])
    answer = await tenant.ask("croissnat contract before noon again, baskets, apricots", explain=True)
    assert answer.explain["corrections"] == {"croissnat": ["croissant"]}


async def test_a_caller_who_sees_a_part_corrects_words_but_no_query_on_something_else(bakery: Tenant) -> None:
    await bakery.add("Harpsichords arrive at the harbour by ferry.", "hidden")
    bakery.db = bakery.db.restricted(filters.restriction(Filters(negated=Filters(uri_prefix="hidden"))))
    with counted_statements(bakery) as run:
        assert (await bakery.ask("croissnat delivry contract")).relaxed == ("similar_words",)
    assert sum("edited AS" in text for text in run) == 1
    assert not any("names_to_match" in text for text in run), "the user has no names to find the visible ones of"
    with counted_statements(bakery) as run:
        assert (await bakery.ask("harpsichord harbour ferry contract")).relaxed == ()
    assert not any("edited AS" in text for text in run)


async def test_a_relative_of_an_inflected_word_is_no_correction_of_it(bakery: Tenant) -> None:
    await bakery.add("The supplier of the account.", "supplier")
    assert (await bakery.ask("who supplies croissant")).relaxed == ()
    assert (await bakery.ask("accoun croissant")).relaxed == ("similar_words",), "the last letter may be missing"


async def test_a_relaxation_keeps_filters_and_exclusions(words: Tenant) -> None:
    boat = await words.ask("ferry", mode="lexical")
    only_boat = Filters(document_ids=(boat.hits[0].candidate.document_id,))
    assert uris(await words.ask('"mortar lime"', mode="lexical", filters=only_boat)) == ["boat"]
    excluded = tuple(hit.candidate.chunk_id for hit in boat.hits)
    assert "boat" not in uris(await words.ask("harbor", mode="lexical", exclude_chunk_ids=excluded))


async def test_the_longest_unknown_words_are_corrected_and_their_number_is_limited(words: Tenant) -> None:
    unknown = [f"zq{number:03d}x" for number in range(250)]
    answer = await _deaf(words).ask(" ".join([*unknown, "timetabel"]), mode="lexical")
    assert (uris(answer), answer.relaxed) == (["boat"], ("similar_words",))
    many = " ".join([*(f"quite{number:03d}unheard" for number in range(110)), "harb"])
    assert uris(await _deaf(words).ask(many, mode="lexical")) == []


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid", "auto"])
@pytest.mark.parametrize("query", ["-lime", '"qqqq wwww" -lime'])
async def test_what_is_excluded_stays_excluded_in_every_mode(tenant: Tenant, query: str, mode: str) -> None:
    await tenant.add_all({"lime": "Lime putty.", "ferry": "The ferry leaves.", "quay": "The quay is old."})
    assert sorted(uris(await tenant.ask(query, mode=mode))) == ["ferry", "quay"]


async def test_only_what_excludes_everything_is_dropped(tenant: Tenant) -> None:
    await tenant.add_all({"lime": "Lime putty.", "old": "Old lime."})
    answer = await tenant.ask("putty -lime", mode="lexical")
    assert (uris(answer)[0], answer.relaxed) == ("lime", ("constraints_dropped",))


async def test_each_thing_that_was_done_is_named(tenant: Tenant) -> None:
    await tenant.add_all({"conf": "The configuration of the buoy.", "ferry": "The ferry leaves."})
    assert (await tenant.ask("title:con* ferrry", mode="lexical")).relaxed == ("constraints_dropped", "similar_words")
