"""A query that matches nothing is relaxed step by step, and the answer names the step."""

from typing import Any

import harness
import pytest
from harness import Tenant, uris

from app.database.filter_types import Filters
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
