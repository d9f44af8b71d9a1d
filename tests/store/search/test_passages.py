"""The ranks of a chunk are exact among the chunks in scope, and the conditions that it does not meet are named."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import hybrid
import pytest

from app.shapes import Filters, HybridRequest, HybridResult
from app.store.connection.transactions import Database
from app.store.filters import filters
from app.store.search import passages, recall
from benchmarks.fake_embedder import FakeEmbedder

WORDS = ["lime", "mortar", "wall", "harbour", "buoy", "tide", "rope", "lamp"]
SCOPES: list[dict[str, Any]] = [
    {},
    {"filters": Filters(metadata={"even": True})},
    {"excluded": ["rope"]},
    {"strict": ["tide"]},
    {"filters": Filters(metadata={"even": {"ne": True}}), "excluded": ["rope"], "strict": ["lime"]},
]


@pytest.fixture
async def stored(put: Any, find: Any, embedder: FakeEmbedder) -> HybridResult:
    """Sixty chunks of two documents with several of the words each."""
    texts = [
        f"note{number} " + " ".join(word for place, word in enumerate(WORDS) if (number + 1) * (place + 3) % 11 < 5)
        for number in range(60)
    ]
    for even in (True, False):
        await put(*texts[even::2], metadata={"even": even})
    result: HybridResult = await find("lime", await embedder.embed_query("lime"), limit=200, candidates=200)
    assert len(result.candidates) == 60
    return result


async def ranked(database: Database, request: HybridRequest, chunk_id: UUID) -> passages.LegRanks:
    async with database.reading(request.user_id) as reading:
        return await passages.leg_ranks(reading, request, chunk_id)


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: " ".join(scope) or "everything")
@pytest.mark.parametrize("is_small", [True, False], ids=["small", "large"])
async def test_ranks_beyond_the_candidates_are_those_of_uncut_legs(
    database: Database,
    embedder: FakeEmbedder,
    user: str,
    stored: HybridResult,
    scope: dict[str, Any],
    is_small: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vector = await embedder.embed_query("lime mortar tide")
    excluded = tuple(one.chunk_id for one in stored.candidates[::7])
    options = {**scope, "exclude_chunk_ids": excluded, "limit": 400}
    uncut = await hybrid.run(database, hybrid.request(user, "lime mortar tide", vector, candidates=200, **options))
    if not is_small:
        for name in ("EXACT_FLOOR", "EXACT_FACTOR", "EXACT_FACTOR_FILTERED"):
            monkeypatch.setattr(recall, name, 0)
    cut = hybrid.request(user, "lime mortar tide", vector, candidates=2, **options)
    assert len(uncut.candidates) > 3
    for one in uncut.candidates[::3]:
        found = await ranked(database, cut, one.chunk_id)
        assert (found.text_rank, found.text_score) == (one.text_rank, pytest.approx(one.text_score))
        assert (found.vector_rank, found.exact) == (one.vector_rank, True)
        assert found.vector_score == pytest.approx(one.cosine)


async def test_a_chunk_is_ranked_as_if_it_were_in_scope(
    database: Database, embedder: FakeEmbedder, user: str, stored: HybridResult
) -> None:
    vector = await embedder.embed_query("lime")
    (best,) = (one for one in stored.candidates if one.vector_rank == 1)
    request = hybrid.request(user, "lime", vector, exclude_chunk_ids=(best.chunk_id,))
    assert (await ranked(database, request, best.chunk_id)).vector_rank == 1


async def test_a_rank_is_the_best_possible_one_if_not_all_vectors_are_compared(
    database: Database, embedder: FakeEmbedder, user: str, stored: HybridResult, by_graph: None, monkeypatch: Any
) -> None:
    monkeypatch.setattr(passages, "MOST_COMPARED", 20)
    request = hybrid.request(user, None, await embedder.embed_query("lime"), weights=(1, 0))
    (last,) = (one for one in stored.candidates if one.vector_rank == 60)
    found = await ranked(database, request, last.chunk_id)
    assert not found.exact
    assert found.vector_rank is not None
    assert 20 <= found.vector_rank <= 21


async def test_each_condition_is_tested_alone(database: Database, put: Any, user: str) -> None:
    document_id = await put("lime", metadata={"team": ["tide"], "year": 2024})
    given = Filters(
        metadata={"team": "tide", "year": {"gte": 2025}, "absent": {"exists": False}},
        document_ids=(document_id,),
        negated=Filters(metadata={"team": "tide"}),
    )
    named = list(filters.named_conditions(given))
    async with database.reading(user) as reading:
        tested = await passages.conditions(reading, document_id, named)
    assert tested is not None
    passed = {one.key or one.field: result for one, result in zip(named, tested.passed, strict=True)}
    assert passed == {"team": True, "year": False, "absent": True, "document_ids": True, "negated": False}


async def test_words_that_the_language_drops_are_neither_contained_nor_missing(
    database: Database, put: Any, find: Any, user: str
) -> None:
    await put("The limes were old.")
    (chunk,) = (await find("lime")).candidates
    phrases = hybrid.request(user, "", strict=["lime", "the", "old lime"]).lexical
    assert phrases is not None
    async with database.reading(user) as reading:
        assert await passages.contained(reading, chunk.chunk_id, phrases.strict) == [True, None, False]
