"""The vector leg through the HNSW graph matches an exact scan, and the choice between them follows the scope."""

import random
from uuid import uuid4

import asyncpg
import hybrid
import oracle
import pytest
from query_vectors import WORDS, at, ids

from app.database import vectors
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.search.store import hybrid_search
from benchmarks.fake_embedder import FakeEmbedder

CORPUS = 3_003


@pytest.fixture(scope="module")
async def large(database: Database, owner: asyncpg.Connection, embedder: FakeEmbedder) -> str:
    """A user with 3,003 tiny chunks: 1 % of them `kind: rare`, 0.1 % `kind: single`."""
    user = f"large-{uuid4().hex}"
    dice = random.Random(3)
    sizes = [("common", 30)] * 99 + [("rare", 10)] * 3 + [("single", 3)]
    drafts = []
    for n, (kind, size) in enumerate(sizes):
        texts = [f"{' '.join(dice.choices(WORDS, k=4))} {n} {m}" for m in range(size)]
        drafts.append(hybrid.draft(*texts, metadata={"kind": kind, "n": n}, title=f"document {n}"))
    await hybrid.store_all(database, user, drafts, embedder=embedder)
    await owner.execute("VACUUM ANALYZE stepwell.embeddings, stepwell.chunks, stepwell.documents, stepwell.postings")
    return user


SELECTIONS = [
    (None, CORPUS),
    ({"kind": "rare"}, 30),
    ({"kind": "single"}, 3),
    ({"n": {"lt": 50}}, 1_500),
    ({"n": {"gte": 101}}, 13),
]


@pytest.mark.parametrize(("metadata", "passing"), SELECTIONS, ids=[str(metadata) for metadata, _ in SELECTIONS])
@pytest.mark.parametrize("excluding", [0, 30])
async def test_a_graph_scan_returns_as_many_hits_as_pass_the_filters(
    by_graph, database, large, embedder, metadata, passing, excluding
) -> None:
    query = await embedder.embed_query("lantern thunder")
    filters = Filters(metadata=metadata)
    nearest = hybrid.request(large, None, query, filters=filters, limit=30, candidates=100)
    gone = tuple(ids(await hybrid.run(database, nearest))[:excluding])
    for limit in (1, 5, 50):
        wanted = hybrid.request(large, None, query, filters=filters, limit=limit, exclude_chunk_ids=gone)
        found = await hybrid.run(database, wanted)
        assert found.vector_plan == "hnsw"
        assert len(found.candidates) == min(limit, passing - len(gone))
        assert not set(ids(found)) & set(gone)
        assert found.approximate == (passing - len(gone) < 100)


@pytest.mark.parametrize(("metadata", "passing"), SELECTIONS, ids=[str(metadata) for metadata, _ in SELECTIONS])
async def test_the_graph_finds_what_an_exact_scan_finds(
    monkeypatch, database, large, embedder, owner, metadata, passing
) -> None:
    corpus = await oracle.corpus(owner, large)
    hits = total = 0
    for text in ("lantern thunder", "copper orchid meadow", "castle 17 3"):
        query = await embedder.embed_query(text)
        wanted = hybrid.request(large, text, query, filters=Filters(metadata=metadata), limit=50, excluded=["violin"])
        both = []
        for bound in (CORPUS, 0):
            with monkeypatch.context() as patch:
                hybrid.scan_up_to(patch, bound, float(bound))
                both.append(await hybrid.run(database, wanted))
        exact, graph = both
        assert (exact.vector_plan, graph.vector_plan) == ("exact", "hnsw")
        assert (exact.vector_found, exact.text_found) == (graph.vector_found, graph.text_found)
        assert "violin" not in " ".join(hybrid.contents(exact) + hybrid.contents(graph))
        cosines = corpus.cosine(query)
        for found in (exact, graph):
            for candidate in found.candidates:
                if candidate.vector_score is not None:
                    assert candidate.vector_score == pytest.approx(cosines[candidate.chunk_id], abs=1e-6)
        assert not exact.approximate
        hits += len(set(ids(exact)) & set(ids(graph)))
        total += len(exact.candidates)
    assert hits >= 0.97 * total
    assert total > 0


async def test_the_choice_between_graph_and_exact_scan_follows_the_counted_scope(monkeypatch, database, large) -> None:
    monkeypatch.setattr(hybrid_search, "EXACT_FACTOR_FILTERED", 0.0)
    for floor, plan in ((30, "exact"), (29, "hnsw")):
        monkeypatch.setattr(hybrid_search, "EXACT_FLOOR", floor)
        wanted = hybrid.request(large, None, at(1), filters=Filters(metadata={"kind": "rare"}))
        assert (await hybrid.run(database, wanted)).vector_plan == plan


@pytest.mark.parametrize(("metadata", "scope"), [(None, CORPUS), ({"kind": "rare"}, 30)], ids=["all", "filtered"])
async def test_the_largest_scope_that_is_scanned_grows_with_the_square_root_of_the_table(
    monkeypatch, database, large, metadata, scope
) -> None:
    async with database.reading(large) as reading:
        rows = reading.graph_rows
    for above, plan in ((1.0, "exact"), (-1.0, "hnsw")):
        hybrid.scan_up_to(monkeypatch, factor=(scope + above) ** 2 / (100 * rows))
        wanted = hybrid.request(large, None, at(1), filters=Filters(metadata=metadata))
        assert (await hybrid.run(database, wanted)).vector_plan == plan


async def test_the_graph_s_rows_are_estimated_with_those_of_other_users_and_without_statistics(
    database, large, owner, user
) -> None:
    stored = await owner.fetchval("SELECT count(*) FROM stepwell.embeddings")
    async with database.reading(large) as reading:
        assert stored <= reading.graph_rows <= 1.3 * stored
    async with database.reading(user) as reading:
        assert reading.graph_rows == 0


async def test_vectors_are_stored_with_16_bits_a_number(database, user, embedder) -> None:
    vector = [1.0, -0.5, 1e-7, *([0.25] * 61)]
    await hybrid.store(database, user, hybrid.draft("copper"), embedded=[vector], embedder=embedder)
    found = await hybrid.run(database, hybrid.request(user, "copper"))
    async with database.reading(user) as reading:
        stored = await hybrid_search.vector_of(reading, found.candidates[0].chunk_id)
    assert stored == pytest.approx(vector, rel=2**-11, abs=2**-25)
    assert vectors.as_text(vector).startswith("[1,-0.5,1e-07,")
