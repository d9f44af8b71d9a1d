"""Answers have a relevance with every model; confidence is the word for it, and `answerable` follows from it.

A user's calibration changes the relevance of the user's hits, and nothing else, at no statement more.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import harness
import linking
import pytest
from harness import Tenant
from requests_of import search_request

from app import errors, samples
from app.database import filters
from app.database.calibration_types import LogitScale, RelevanceCalibration, StoredCalibration
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents import selections
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.enums import Vector
from app.evaluation import calibration
from app.evaluation.beir import JudgedQuestion
from app.evaluation.calibration import Judgements
from app.models.local.onnx_embedder import OnnxEmbedder
from app.multihop import multihop
from app.query.search_types import Answer
from app.relevance import answerable_levels, cosine_scales, relevance
from app.relevance import calibration_store as calibrations
from app.search import search
from app.services import Budget
from benchmarks.fake_embedder import FakeEmbedder

LEVELS = ("low", "medium", "medium_high", "high", "very_high")
SCALES = RelevanceCalibration(LogitScale(0.7, 0.8), LogitScale(-0.4, 1.3), LogitScale(0.1, 0.9))
STORED = StoredCalibration(SCALES, 31, 290, datetime(2026, 5, 1, tzinfo=UTC))
QUESTIONS = ("Who leads the team that looks after the Gannet buoys?", "lime mortar", "What is the capital of France?")


@pytest.fixture(scope="module")
async def notes(database: Database, offline_embedder: OnnxEmbedder) -> Tenant:
    """A user with the sample notes."""
    tenant = Tenant(database, embedder=offline_embedder)
    paths = sorted(samples.NOTES.rglob("*.md"))
    await tenant.many([Upload(path.read_text("utf-8"), uri=path.name) for path in paths])
    return tenant


@pytest.mark.parametrize("fields", [{}, {"mode": "lexical"}, {"mode": "semantic"}, {"rerank": "cosine"}, {"mmr": True}])
async def test_a_question_that_the_notes_answer_is_answerable_in_every_mode(notes: Tenant, fields: dict) -> None:
    answer = await notes.ask("How did we fix the sync interval of the buoys?", **fields)
    best = max(hit.relevance or 0.0 for hit in answer.hits)
    assert best > 0.3
    assert answer.answerable > 0.5


async def test_relevance_does_not_depend_on_the_number_of_hits(notes: Tenant) -> None:
    few, many = [await notes.ask("lime mortar", limit=limit) for limit in (2, 20)]
    by_id = {hit.candidate.chunk_id: hit.relevance for hit in many.hits}
    assert all(hit.relevance == pytest.approx(by_id[hit.candidate.chunk_id], rel=1e-6) for hit in few.hits)


async def test_a_word_that_a_passage_has_is_likely_answered_beside_other_languages_and_short_texts(notes) -> None:
    for others in (("Der Hafenmeister hat am Montag die Leinen geprüft.",), ("Buoy painted.",) * 90):
        await notes.many([Upload(text, uri=f"others/{number}") for number, text in enumerate(others)])
        answer = await notes.ask("controller")
        assert not answerable_levels.is_unlikely(answer.answerable)
        await selections.delete(Filters(folder="others"), notes.user_id, db=notes.db, actor="test")


async def test_a_document_in_another_language_leaves_the_closeness_of_a_passage(tenant: Tenant) -> None:
    await tenant.many([Upload(f"Buoy {number} is painted.") for number in range(30)])
    await tenant.add("The weather was fine.")
    query = "weather of the wedding"
    before = await tenant.ask(query, explain=True)
    await tenant.add("Der Hafenmeister hat am Montag die Leinen geprüft.")
    after = await tenant.ask(query, explain=True)
    known = [answer.explain["relevance"]["closeness"] for answer in (before, after)]
    assert known[1] == pytest.approx(known[0], rel=0.05)


async def test_the_title_above_a_sentence_counts_for_its_closeness(tenant: Tenant) -> None:
    await tenant.add("It costs 4 euros a day. Pay at the gate.", title="Visitor parking")
    answer = await tenant.ask("visitor parking costs", explain=True)
    assert answer.explain["relevance"]["closeness"] == 1.0


async def test_the_hits_of_several_hops_have_a_relevance_and_its_level(notes: Tenant) -> None:
    question = search_request("Who leads the team that looks after the Gannet buoys?")
    answer = await multihop.run(question, notes.user_id, notes.services())
    known = [hit.relevance for hit in answer.hits]
    assert None not in known
    levels = [LEVELS.index(hit.confidence) for hit in answer.hits]
    assert levels == sorted(levels, reverse=True)
    assert known[0] > 0.4


async def test_the_cosines_of_an_unknown_model_are_measured_once_for_its_relevance(tenant: Tenant) -> None:
    tenant.embedder = FakeEmbedder(unrelated=None)
    await tenant.add("lime mortar")
    await tenant.add("copper")
    services = tenant.services()
    answer = await search.run(search_request("lime mortar"), tenant.user_id, services)
    known = [hit.relevance for hit in answer.hits]
    assert None not in known
    assert known == sorted(known, reverse=True)
    assert abs(services.state(cosine_scales.MeasuredModels).unrelated[services.embedder.model.name]) < 0.5
    least = known[0]
    found = await search.run(search_request("lime mortar", min_relevance=least), tenant.user_id, services)
    assert [hit.candidate.content for hit in found.hits] == ["lime mortar"]


class HeldInBulk(FakeEmbedder):
    """A model that embeds passages only after `go`. `started` counts the calls."""

    started = 0

    def __init__(self) -> None:
        super().__init__(unrelated=None)
        self.go = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.started += 1
        await self.go.wait()
        return await super().embed_documents(texts)


async def test_a_measurement_that_takes_longer_than_a_search_waits_goes_on(tenant: Tenant) -> None:
    await tenant.add("lime mortar")
    tenant.embedder = held = HeldInBulk()
    services = tenant.services(budget=Budget(embed_s=0.05))
    query = search_request("lime mortar", explain=True)
    first, _second = [await search.run(query, tenant.user_id, services) for _ in range(2)]
    assert first.explain["relevance"]["best_cosine"] is None
    held.go.set()
    third = await search.run(query, tenant.user_id, replace(services, budget=Budget()))
    assert third.explain["relevance"]["best_cosine"] is not None
    assert held.started == 1


async def test_a_sum_over_several_hops_counts_a_cosine_as_one_of_the_built_in_model(tenant: Tenant) -> None:
    tenant.embedder = FakeEmbedder(unrelated=0.5)
    await tenant.add("lime mortar and sand")
    answer = await multihop.run(search_request("lime mortar", explain=True), tenant.user_id, tenant.services())
    (hit,) = answer.hits
    assert (hit.explain or {})["signals"]["cos"] == pytest.approx(
        cosine_scales.like_built_in(hit.candidate.cosine or 0, 0.5)
    )


@pytest.mark.parametrize("way", ["fast", "thorough"])
async def test_an_unknown_name_caps_the_answer_unless_an_entity_has_it(notes: Tenant, way: str) -> None:
    async def ask(text: str) -> Answer:
        return await search.run(search_request(text, depth=way, explain=True), notes.user_id, notes.services())

    known, unknown = await ask("Which team runs the Gannet buoys?"), await ask("Which team runs the Ostrava buoys?")
    assert (known.answerable or 0.0) > relevance.UNKNOWN_NAME
    assert unknown.hits
    assert 0.0 < max(hit.relevance or 0.0 for hit in unknown.hits) <= (unknown.answerable or 0.0)
    assert (unknown.answerable or 1.0) <= relevance.UNKNOWN_NAME
    [lever] = await linking.add_entities(notes, EntityDraft("project", "Lever", aliases=("Ostrava",)))
    named = await ask("Which team runs the Ostrava buoys?")
    assert [(one.explain or {})["relevance"]["unknown_names"] for one in (unknown, named)] == [True, False]
    await entities.remove(lever, notes.user_id, db=notes.db)


async def test_a_hidden_document_with_the_rarest_word_changes_neither_number(database, offline_embedder) -> None:
    tenant = Tenant(database, embedder=offline_embedder)
    shown, hidden = {"team": "tide"}, {"team": "other"}
    await tenant.add("A long press on the lever resets the Gannet.", metadata=shown)
    await tenant.add("Copper pipes turn green in the rain.", metadata=shown)
    key = replace(tenant, db=database.restricted(filters.restriction(Filters(metadata=shown))))
    question = "How does the Ostrava lever reset the Gannet?"
    before = await key.ask(question)
    await tenant.add("The Ostrava lever resets the Gannet.", metadata=hidden)
    after = await key.ask(question)
    assert [hit.relevance for hit in after.hits] == [hit.relevance for hit in before.hits]
    assert 0.0 < (after.answerable or 0.0) == before.answerable <= relevance.UNKNOWN_NAME
    assert ((await tenant.ask(question)).answerable or 0.0) > relevance.UNKNOWN_NAME


async def asked(tenant: Tenant) -> list[Answer]:
    """The answers to the questions in one search and over several hops."""
    ways = ("fast", "thorough")
    queries = [search_request(text, explain=True, depth=way) for text in QUESTIONS for way in ways]
    return [await search.run(query, tenant.user_id, tenant.services()) for query in queries]


async def test_relevance_and_answerable_follow_the_stored_scales_until_they_are_removed(notes: Tenant) -> None:
    await asked(notes)  # fills the caches
    with harness.counted_statements(notes) as statements:
        before = await asked(notes)
        needed = len(statements)
        await calibrations.put(notes.user_id, STORED, db=notes.db)
        written = len(statements)
        after = await asked(notes)
        assert len(statements) - written == needed
    for old, new in zip(before, after, strict=True):
        assert [hit.candidate.chunk_id for hit in old.hits] == [hit.candidate.chunk_id for hit in new.hits]
        scale = SCALES.relevance if old.hops is None else SCALES.hops
        for one, other in zip(old.hits, new.hits, strict=True):
            assert other.relevance == pytest.approx(relevance.calibrate(scale, one.relevance), rel=1e-6)
        scaled = relevance.calibrate(SCALES.answerable, old.explain["relevance"]["answered"])
        known = [hit.relevance or 0.0 for hit in new.hits]
        most = 1 - math.prod(1 - value for value in known)
        assert new.answerable == pytest.approx(max(*known, min(scaled, most)), rel=1e-6)
        assert old.explain["relevance"]["calibration"] is None
        assert new.explain["relevance"]["calibration"] == {
            "relevance": {"intercept": 0.7, "slope": 0.8},
            "answerable": {"intercept": -0.4, "slope": 1.3},
            "hops": {"intercept": 0.1, "slope": 0.9},
        }
    assert (await documents.stats(notes.user_id, db=notes.db)).calibrated_at == STORED.fitted_at
    await calibrations.put(notes.user_id, None, db=notes.db)
    assert await calibrations.get(notes.user_id, db=notes.db) is None
    again = await asked(notes)
    assert [one.answerable for one in again] == pytest.approx([one.answerable for one in before], rel=1e-6)


async def test_the_uncalibrated_probabilities_are_fitted_whatever_is_stored(notes: Tenant) -> None:
    named = {"reset-gannet.md": 1}
    judged = Judgements([JudgedQuestion(str(n), f"{text} {n}", named) for n in range(2) for text in QUESTIONS])
    fresh = await calibration.fit_user(judged, notes.user_id, notes.services())
    await calibrations.put(notes.user_id, STORED, db=notes.db)
    again = await calibration.fit_user(judged, notes.user_id, notes.services())
    await calibrations.put(notes.user_id, None, db=notes.db)
    assert again.relevance.before.brier == pytest.approx(fresh.relevance.before.brier, abs=1e-6)
    for name in ("relevance", "hops"):
        scales = [getattr(one.stored.calibration, name) for one in (fresh, again)]
        assert scales[1].slope == pytest.approx(scales[0].slope, abs=1e-4)
        assert scales[0] != LogitScale()


async def test_a_calibration_belongs_to_one_user_who_has_stored_something(database: Database) -> None:
    one, other = Tenant(database), Tenant(database)
    await one.add("Copper.")
    await calibrations.put(one.user_id, STORED, db=database)
    assert await calibrations.get(other.user_id, db=database) is None
    with pytest.raises(errors.NotFound, match="has stored nothing"):
        await calibrations.put(other.user_id, STORED, db=database)
