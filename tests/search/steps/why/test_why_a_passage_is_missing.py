"""The explanation names what keeps a passage out, and the search with its change returns the passage."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import harness
import pytest
from harness import Tenant
from pydantic import ValidationError
from requests_of import search_body, search_request, with_change
from stepwell_client import AsyncClient

from app import errors, limits
from app.cli import options
from app.database import transactions
from app.database.transactions import Database
from app.query.search_request import SearchRequest
from app.search import search, state
from app.search.steps.why import why
from app.search.steps.why.api_models import Placement, WhyRequest
from app.services import Services
from benchmarks.fake_embedder import FakeEmbedder

LATE, GANNET = "which supplier was late", "the battery of the Gannet buoy was replaced"
SYNC, CLIFF = "sync interval of the Gannet", "What has cliffclarke been working on?"
GUIDE = "Which musical instrument does the author of the backfill guide play?"
LIME = {"query": "lime mortar"}
UNGUIDED: dict[str, Any] = {"hierarchy": "off", "boost": False}
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("filters", LIME, {"filters": {"metadata": {"mood": {"exists": True}, "tags": "decision"}}}),
    ("filters", {**LIME, "rerank": "cosine", "mmr": True}, {"filters": {"source_names": ["nowhere"]}}),
    ("query", {"query": "lime landing"}, {"query": "lime landing -jaggery"}),
    ("query", {"query": "lime battery"}, {"query": "+lime battery"}),
    ("query", {"query": "lime landing cement"}, {"query": '"no cement" lime landing'}),
    ("query", {"query": "lime landing cement"}, {"query": "lime AND (cement OR jaggery)"}),
    ("candidates", {"query": CLIFF, "limit": 20, "candidates": 200}, {"candidates": 20}),
    ("candidates", {"query": "lime", "limit": 20}, {"mode": "lexical"}),
    ("min_vector_score", {"query": "who pays for travel", "limit": 20}, {"min_vector_score": 0.3}),
    ("min_rrf_score", {"query": "battery swelled", "limit": 20, "mode": "hybrid"}, {"min_rrf_score": 0.02}),
    ("min_confidence", {"query": "who pays for travel", "limit": 20}, {"min_confidence": "high"}),
    ("min_relevance", {"query": LATE, "limit": 20, "rerank": "cosine"}, {"min_relevance": 0.3}),
    ("guidance", {"query": CLIFF, "limit": 8, **UNGUIDED}, {"hierarchy": "auto", "boost": True}),
    ("rerank", {"query": SYNC, "mode": "lexical", "limit": 8}, {"rerank": "cosine"}),
    ("recency", {"query": GANNET, "limit": 8}, {"recency": {"half_life_days": 300, "weight": 0.9}}),
    ("mmr", {"query": "lime mortar below the landing", "limit": 6}, {"mmr": True}),
    ("group", {"query": SYNC, "limit": 8}, {"group_size": 1}),
    ("limit", {"query": LATE, "limit": 12}, {"limit": 3}),
    ("limit", {"query": LATE, "limit": 30, "mmr": True}, {"limit": 5}),
    ("hops", {"query": GUIDE, "limit": 8}, {"depth": "thorough"}),
]


@pytest.fixture(scope="module")
async def notes(new_database, demo_template, offline_embedder) -> AsyncIterator[Services]:
    """The services of a database with the sample notes."""
    opened = transactions.connect((await new_database(demo_template)).service_dsn, pool_size=4, pool_wait_s=30.0)
    yield await harness.services(opened, offline_embedder)
    await opened.close()


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
    copy = "Below the third landing the masons use lime mortar and never cement, because it breathes."
    await tenant.add_all(
        {"lime": copy, "copy": copy, "wall": "The lime mortar of the harbour is old.", "dog": "A dog."}
    )
    return tenant


async def find(body: dict[str, Any], services: Services, user_id: str = options.LOCAL) -> dict[UUID, int]:
    """The ranks of the chunks in the answer."""
    answer = await search.run(SearchRequest.model_validate(body), user_id, services)
    every = ((one, rank) for rank, hit in enumerate(answer.hits, 1) for one in (hit, *hit.more))
    return {one.candidate.chunk_id: rank for one, rank in every}


async def explain(body: dict[str, Any], services: Services, user_id: str = options.LOCAL, **key: Any) -> Placement:
    return (await why.run(WhyRequest.model_validate({**body, **key}), user_id, services))[0]


@pytest.mark.parametrize(("code", "loose", "tight"), CASES, ids=lambda value: value if isinstance(value, str) else "")
async def test_what_keeps_a_passage_out_is_named_and_the_change_brings_it_in(notes, code, loose, tight) -> None:
    wide, narrow = ({**one, "text": one["query"]} for one in (loose, {**loose, **tight}))
    body = search_body(**{name: value for name, value in narrow.items() if name != "query"})
    before = await find(search_body(**{name: value for name, value in wide.items() if name != "query"}), notes)
    after = await find(body, notes)
    for chunk_id in [one for one in before if one not in after][:3]:
        one = await explain(body, notes, chunk_id=chunk_id)
        assert not one.found
        if one.kept_out_by == code:
            break
    assert (one.kept_out_by, bool(one.change)) == (code, True), one
    assert one.chunk_id in await find(with_change(body, one.change), notes), one
    for chunk_id, rank in list(after.items())[:1]:
        placed = await explain(body, notes, chunk_id=chunk_id)
        assert (placed.found, placed.rank, placed.kept_out_by, placed.change) == (True, rank, None, None)


async def test_the_place_in_each_leg_is_that_of_a_search_with_more_candidates(notes: Services) -> None:
    hits = (await search.run(search_request(GANNET, limit=50, candidates=200, **UNGUIDED), options.LOCAL, notes)).hits
    for hit in hits[::8]:
        one = hit.candidate
        placed = await explain(search_body(GANNET, candidates=10, **UNGUIDED), notes, chunk_id=one.chunk_id)
        assert {leg: place.rank for leg, place in placed.legs.items()} == {
            "vector": one.vector_rank,
            "text": one.text_rank,
        }
        assert placed.legs["vector"].score == pytest.approx(one.cosine, abs=1e-4)
        assert placed.legs["vector"].is_candidate == ((one.vector_rank or 11) <= 10)


async def test_a_hop_that_found_a_passage_is_named(notes: Services) -> None:
    body = search_body(GUIDE, depth="thorough", limit=8)
    hits = (await search.run(search_request(GUIDE, depth="thorough", limit=8), options.LOCAL, notes)).hits
    rank, later = next((rank, hit) for rank, hit in enumerate(hits, 1) if hit.hop == 2)
    placed = await explain(body, notes, chunk_id=later.candidate.chunk_id)
    assert (placed.found, placed.rank, placed.change) == (True, rank, None)
    assert placed.reason == f"Hop 2 found it: it is number {rank}."


async def test_a_document_is_explained_by_its_best_placed_chunk_that_is_not_excluded(notes: Services) -> None:
    body = search_body("no cement below the third landing", limit=3)
    first = next(iter(await find(body, notes)))
    placed = await explain(body, notes, chunk_id=first)
    assert await explain(body, notes, document_id=placed.document_id) == placed
    assert await explain(body, notes, uri=placed.uri) == placed
    without = {**body, "exclude_chunk_ids": [str(first)]}
    assert (await explain(without, notes, uri=placed.uri)).chunk_id != first
    excluded = await explain(without, notes, chunk_id=first)
    assert (excluded.kept_out_by, excluded.rank, excluded.change) == ("exclude_chunk_ids", 1, {"exclude_chunk_ids": []})


async def test_a_passage_that_repeats_a_hit_is_explained_so(shelf: Tenant) -> None:
    body = search_body("lime mortar landing")
    (hit,) = (hit for hit in (await shelf.ask("lime mortar landing")).hits if hit.duplicates)
    placed = await explain(body, shelf.services(), shelf.user_id, chunk_id=hit.duplicates[0].chunk_id)
    assert (placed.kept_out_by, placed.change) == ("collapse", {"collapse": "off"})
    assert (await explain(body, shelf.services(), shelf.user_id, chunk_id=hit.candidate.chunk_id)).found


async def test_a_candidate_beyond_the_results_of_all_pages_is_beyond_the_limit(shelf: Tenant, monkeypatch) -> None:
    monkeypatch.setattr(limits, "MAX_RESULTS", 2)
    placed = await explain(search_body("lime mortar", limit=1), shelf.services(), shelf.user_id, uri="dog")
    assert (placed.legs["vector"].is_candidate, placed.kept_out_by, placed.change) == (True, "limit", None)


async def test_conditions_that_the_search_has_dropped_keep_nothing_out(shelf: Tenant) -> None:
    body = search_body('"lime cement mortar"', mode="lexical")
    placed = await explain(body, shelf.services(), shelf.user_id, uri="wall")
    assert (placed.found, list(placed.legs)) == (True, ["text"])


async def test_a_query_of_exclusions_alone_has_no_change(shelf: Tenant) -> None:
    placed = await explain(search_body("-dog"), shelf.services(), shelf.user_id, uri="dog")
    assert (placed.kept_out_by, placed.change, placed.reason) == ("query", None, 'It contains "dog".')


async def test_a_reranking_provider_is_called_once(shelf: Tenant) -> None:
    reranker = CountingReranker()
    body = search_body("lime mortar", limit=1, rerank="provider")
    await explain(body, shelf.services(reranker=reranker), shelf.user_id, uri="wall")
    assert reranker.calls == 1


async def test_a_failing_embedder_leaves_the_text_leg_to_be_explained(shelf: Tenant) -> None:
    shelf.embedder = FakeEmbedder(failing=True)
    assert list((await explain(search_body("lime"), shelf.services(), shelf.user_id, uri="wall")).legs) == ["text"]


async def test_a_passage_that_is_not_stored_and_a_cursor_are_errors(shelf: Tenant) -> None:
    with pytest.raises(errors.NotFound):
        await explain(search_body("lime"), shelf.services(), shelf.user_id, uri="no/such.md")
    with pytest.raises(errors.BadRequest, match="cursor"):
        await explain(search_body("lime", cursor="abc"), shelf.services(), shelf.user_id, uri="dog")


@pytest.mark.parametrize("named", [{}, {"uri": "lime", "chunk_id": UUID(int=0)}])
def test_the_place_of_exactly_one_passage_is_explained(named: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="only one of them"):
        WhyRequest(query="lime mortar", **named)


async def test_the_client_explains_a_passage(address_of_service: str, database: Database, user: str) -> None:
    async with AsyncClient(address_of_service, api_key=await harness.create_key(database, user)) as client:
        await client.documents.add("The Gannet reports every eleven minutes.", uri="gannet.md")
        await client.documents.add("Tide table", uri="tides.md")
        placement = await client.why("tide table", uri="gannet.md", limit=1)
    assert (placement.found, placement.kept_out_by, placement.change) == (False, "limit", {"limit": 2})


async def test_the_command_names_a_file_by_its_path_or_uri(remote: Any, remote_folder: Path) -> None:
    path = remote_folder / "tide ü.txt"
    path.write_text("The Gannet reports every eleven minutes.")
    assert (await remote("ingest", path)).code == 0
    for named in (path, path.as_uri(), f"file://{path}", f"notes/{path.name}"):
        assert "reason: " in (await remote("why", "lime", named, "--limit", 1)).out
    missing = await remote("why", "lime", "no/such.md")
    assert (missing.code, "No such passage: no/such.md" in missing.err) == (1, True)


def test_each_step_that_orders_hits_is_one_of_those_whose_places_are_shown() -> None:
    steps = state.steps("order")
    assert len(steps) == len(why.LATER_STEPS), "edit LATER_STEPS, and score_before_reranking if it changes scores"
