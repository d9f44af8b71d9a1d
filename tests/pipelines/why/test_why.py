"""The explanation of a passage degrades as the search does, and calls a re-ranker once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from harness import Tenant
from requests_of import search_request

from app import errors
from app.pipelines.why import why
from app.shapes import FilterPart, Filters, PassageKey, Placement
from benchmarks.fake_embedder import FakeEmbedder

SHELF = {
    "mortar": "# Mortar\n\nBelow the third landing we use lime mortar and never cement.",
    "lime": "# Lime\n\nLime mortar is slaked before it is used.",
    "wall": "# Wall\n\nThe lime mortar of the harbour wall is old.",
    "dog": "# Dog\n\nA dog is a loyal companion that likes long walks in the park.",
}


class CountingReranker:
    """A reranker that prefers short texts and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score between 0 and 1 for each text."""
        self.calls += 1
        return [1 / len(text) for text in texts]


@pytest.fixture
async def shelf(tenant: Tenant) -> Tenant:
    await tenant.add_all(SHELF)
    return tenant


async def asked(tenant: Tenant, text: str, uri: str, services: Any = None, **fields: Any) -> Placement:
    query = search_request(text, **fields)
    return await why.run(query, PassageKey(uri=uri), tenant.user_id, services or tenant.services())


async def test_a_passage_without_a_word_of_the_query_gets_its_rank_by_meaning(shelf: Tenant) -> None:
    placement = await asked(shelf, "lime mortar", "dog", mode="lexical")
    assert (placement.verdict, [leg.rank for leg in placement.legs]) == ("not_a_candidate", [None])
    assert [(change.field, change.value) for change in placement.changes] == [("mode", "auto")]
    both = await asked(shelf, "lime mortar", "dog", limit=3)
    assert [(leg.leg, leg.candidate, leg.rank, leg.words) for leg in both.legs] == [
        ("vector", True, both.legs[0].rank, None),
        ("text", False, None, ()),
    ]


async def test_a_failing_embedder_leaves_the_text_leg_to_be_explained(shelf: Tenant) -> None:
    shelf.embedder = FakeEmbedder(failing=True)
    placement = await asked(shelf, "lime mortar", "wall", limit=1)
    assert [leg.leg for leg in placement.legs] == ["text"]
    assert set(placement.degraded) == {"embedding_failed", "no_query_vector"}


async def test_a_reranking_provider_is_called_once_and_not_for_changes(shelf: Tenant) -> None:
    reranker = CountingReranker()
    services = replace(shelf.services(), reranker=reranker)
    placement = await asked(shelf, "lime mortar", "mortar", services, limit=1, rerank="provider")
    assert (placement.verdict in ("reranked_out", "outranked"), placement.changes) == (True, ())
    assert (placement.rank or 0) > 1
    assert reranker.calls == 1


async def test_a_relaxed_search_is_explained_as_it_was_run(shelf: Tenant) -> None:
    placement = await asked(shelf, '"lime cement mortar"', "wall", mode="lexical")
    assert (placement.verdict, placement.relaxed) == ("returned", ("constraints_dropped",))
    assert not any(step.step == "required_word" for step in placement.steps)


async def test_every_required_word_that_is_missing_is_a_step(shelf: Tenant) -> None:
    placement = await asked(shelf, '+cement +landing "lime mortar"', "wall", mode="lexical")
    assert placement.verdict == "missing_words"
    words = {step.needed: step.passed for step in placement.steps if step.step == "required_word"}
    assert words == {"cement": False, "landing": False, "lime mortar": True}
    assert [(change.field, change.value) for change in placement.changes] == [("query", 'cement landing "lime mortar"')]


async def test_every_condition_of_an_expression_is_a_step(shelf: Tenant) -> None:
    placement = await asked(shelf, "lime AND (cement OR landing)", "wall")
    assert placement.verdict == "missing_words"
    steps = [step for step in placement.steps if step.step in ("required_word", "condition")]
    assert {step.needed: (step.step, step.passed) for step in steps} == {
        "lime": ("required_word", True),
        "(cement OR landing)": ("condition", False),
    }
    assert [(change.field, change.value) for change in placement.changes] == [("query", "+lime cement landing")]
    assert placement.rank_after


async def test_a_blank_query_and_a_cursor_are_rejected(shelf: Tenant) -> None:
    with pytest.raises(errors.BadRequest, match="query is blank"):
        await asked(shelf, "  ", "dog")
    with pytest.raises(errors.BadRequest, match="cursor"):
        await asked(shelf, "lime", "dog", cursor="abc")


async def test_a_passage_below_two_thresholds_fails_both(shelf: Tenant) -> None:
    placement = await asked(shelf, "lime mortar", "dog", min_vector_score=0.99, min_rrf_score=1.0)
    failed = [step.step for step in placement.steps if not step.passed and step.step.startswith("min_")]
    assert (placement.verdict, failed) == ("below_threshold", ["min_vector_score", "min_rrf_score"])
    assert {change.field for change in placement.changes} == {"ranking.min_vector_score", "ranking.min_rrf_score"}


async def test_the_condition_of_a_filter_is_reported_with_the_stored_value_and_the_one_that_is_needed(
    shelf: Tenant,
) -> None:
    ids = tuple(uuid4() for _ in range(2))
    placement = await asked(shelf, "lime mortar", "lime", filters=Filters(document_ids=ids))
    (step,) = (step for step in placement.steps if step.step == "filter")
    assert placement.verdict == "filtered"
    assert (step.filter, step.passed, step.needed) == (FilterPart("document_ids"), False, ids)
    assert placement.chunk is not None
    assert step.value == str(placement.chunk.document_id)
    assert [(change.filter, change.value) for change in placement.changes] == [(FilterPart("document_ids"), None)]
