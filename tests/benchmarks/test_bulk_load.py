"""The synthetic corpus equals what the service would store, and the figures are computed as documented."""

from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from app.database import sql, transactions
from app.services import Services
from benchmarks.speed import benchmark, texts
from benchmarks.speed import owner as owner_sql

DERIVED = {
    "postings": "SELECT user_id, lexeme, first_no, items FROM stepwell.postings ORDER BY 1, 2, 3",
    "lexemes": "SELECT user_id, lexeme, df, tail_no, tail_size FROM stepwell.lexemes ORDER BY 1, 2",
    "text_statistics": "SELECT user_id, config, chunks, tokens FROM stepwell.text_statistics ORDER BY 1, 2",
}


@pytest.fixture(scope="module")
def drawn() -> list[str]:
    """Passages. Their vocabulary takes a second to draw."""
    return [f"{place} {text}" for place, text in enumerate(texts.chunks(60, np.random.default_rng(3)))]


@pytest.fixture(scope="module")
def parameters(drawn: list[str]) -> benchmark.Parameters:
    return benchmark.Parameters(chunks=240, questions=12, passages=drawn)


@pytest.fixture(scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
async def report(parameters, address, database, embedder, folder) -> benchmark.SpeedReport:
    return await benchmark.run(
        parameters, services=Services(database, embedder), owner_dsn=address.owner_dsn, folder=folder
    )


async def test_a_corpus_of_exactly_scanned_size_is_found_whole(report):
    assert report.recall == {100.0: 1.0, 10.0: 1.0, 1.0: 1.0, 0.1: 1.0}
    assert report.overlap == 1.0


async def test_bulk_built_postings_equal_those_that_the_service_adds_document_by_document(owner_and_database):
    owner, dsn, database = owner_and_database
    batch = _batch(documents=100, chunks_each=3)
    async with owner_sql.owning(dsn) as bulk:
        await bulk.begin_load(["bench"])
        await bulk.add("bench", batch, first_no=1)
        await bulk.derive(["bench"])
    built = {name: await owner.fetch(query) for name, query in DERIVED.items()}
    assert max(len(row["items"]) for row in built["postings"]) == 128

    for table in DERIVED:
        await owner.execute(f"DELETE FROM stepwell.{table}")
    for document_id in batch.document_ids:
        async with database.writing("bench") as writing:
            binds = {"user_id": "bench", "document_ids": [document_id]}
            await writing.execute(sql.statement("index_documents"), binds)
            await writing.execute(sql.statement("count_chunks"), {**binds, "sign": 1})
    assert {name: await owner.fetch(query) for name, query in DERIVED.items()} == built


async def test_the_exact_bm25_is_computed_from_the_tsvectors_alone(owner_and_database):
    owner, dsn, _database = owner_and_database
    async with owner_sql.owning(dsn) as bulk:
        await owner.execute("DELETE FROM stepwell.tenants WHERE user_id = 'somebody'")
        await bulk.begin_load(["bench"])
        await bulk.add("bench", _batch(documents=2, chunks_each=2), first_no=1)
        scores = [score for _chunk, score in await bulk.exact_bm25("bench", "own1 | common", limit=10)]
    rare, common = np.log(1 + (4 - 1 + 0.5) / 1.5), np.log(1 + 0.5 / 4.5)
    assert scores == pytest.approx([rare + common, common, common, common])


@pytest.fixture(scope="module")
async def owner_and_database(new_database, template):
    address = await new_database(template)
    connection, database = (
        await address.connect(),
        transactions.connect(address.service_dsn, pool_size=1, pool_wait_s=30.0),
    )
    yield connection, address.owner_dsn, database
    await database.close()
    await connection.close()


def _batch(*, documents: int, chunks_each: int) -> owner_sql.Batch:
    """Chunks that share the word `common` and have one of their own."""
    total = documents * chunks_each
    texts = [f"common own{place}" for place in range(total)]
    return owner_sql.Batch(
        document_ids=[uuid4() for _ in range(documents)],
        titles=[""] * documents,
        contents=["\n".join(texts[start : start + chunks_each]) for start in range(0, total, chunks_each)],
        metadata=["{}"] * documents,
        chunk_counts=[chunks_each] * documents,
        chunk_ids=[uuid4() for _ in range(total)],
        of=[place // chunks_each for place in range(total)],
        indices=[place % chunks_each for place in range(total)],
        starts=[0] * total,
        chunk_contents=texts,
        indexed=texts,
        vectors=np.ones((total, 64), dtype=np.float32),
    )
