"""Answers have a calibrated relevance with the offline model, and confidence by the legs with an unknown one."""

from __future__ import annotations

import pytest
from harness import Tenant

from app import errors, samples
from app.pipelines.multihop import multihop
from app.pipelines.multihop.multihop import MultihopQuery
from app.providers.local.onnx_embedder import OnnxEmbedder
from app.shapes import Query, Upload
from app.store.connection.transactions import Database

LEVELS = ("low", "medium", "medium_high", "high", "very_high")


@pytest.fixture(scope="module")
async def notes(database: Database, minilm: OnnxEmbedder) -> Tenant:
    """A user with the sample notes."""
    tenant = Tenant(database, embedder=minilm)
    paths = sorted(samples.NOTES.rglob("*.md"))
    await tenant.many([Upload(path.read_text("utf-8"), uri=path.name) for path in paths])
    return tenant


async def test_a_question_that_the_notes_do_not_answer_has_low_confidence(notes: Tenant) -> None:
    answer = await notes.ask("What is the capital of France?")
    assert (answer.confidence, answer.confidence_by) == ("low", "relevance")
    assert all(hit.relevance is not None and hit.relevance < 0.08 for hit in answer.hits)
    assert answer.answerable is not None
    assert answer.answerable < 0.2


@pytest.mark.parametrize("fields", [{}, {"mode": "lexical"}, {"mode": "semantic"}, {"rerank": "cosine"}, {"mmr": True}])
async def test_a_question_that_the_notes_answer_is_answerable_in_every_mode(notes: Tenant, fields: dict) -> None:
    answer = await notes.ask("How did we fix the sync interval of the buoys?", **fields)
    best = max(hit.relevance or 0.0 for hit in answer.hits)
    assert best > 0.3
    assert answer.answerable is not None
    assert answer.answerable > 0.5


async def test_hits_below_the_minimum_relevance_are_left_out(notes: Tenant) -> None:
    question = "How did we fix the sync interval of the buoys?"
    every = await notes.ask(question, limit=20)
    known = sorted((hit.relevance or 0.0 for hit in every.hits), reverse=True)
    least = (known[2] + known[3]) / 2
    kept = await notes.ask(question, limit=20, min_relevance=least)
    assert {hit.candidate.chunk_id for hit in kept.hits} == {
        hit.candidate.chunk_id for hit in every.hits if (hit.relevance or 0.0) >= least
    }
    assert (await notes.ask(question, min_relevance=1.0)).hits == ()


async def test_relevance_does_not_depend_on_the_number_of_hits(notes: Tenant) -> None:
    few, many = [await notes.ask("lime mortar", limit=limit) for limit in (2, 20)]
    by_id = {hit.candidate.chunk_id: hit.relevance for hit in many.hits}
    assert all(hit.relevance == by_id[hit.candidate.chunk_id] for hit in few.hits)


async def test_the_hits_of_several_hops_have_a_relevance_and_its_level(notes: Tenant) -> None:
    question = Query(notes.user_id, "Who leads the team that looks after the Gannet buoys?")
    answer = await multihop.run(MultihopQuery(question), notes.services())
    known = [hit.relevance for hit in answer.hits]
    assert None not in known
    levels = [LEVELS.index(hit.confidence) for hit in answer.hits]
    assert levels == sorted(levels, reverse=True)
    assert known[0] is not None
    assert known[0] > 0.4


async def test_with_an_unknown_model_confidence_follows_from_the_legs(tenant: Tenant) -> None:
    await tenant.add("lime mortar")
    answer = await tenant.ask("lime mortar")
    assert (answer.confidence_by, answer.answerable, answer.hits[0].relevance) == ("legs", None, None)
    assert answer.confidence == "very_high"
    with pytest.raises(errors.BadRequest, match="not calibrated") as caught:
        await tenant.ask("lime mortar", min_relevance=0.5)
    assert caught.value.field == "min_relevance"
