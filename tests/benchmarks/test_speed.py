"""The synthetic corpus equals what the service would store, and the figures are computed as documented."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import asyncpg
import numpy as np
import pytest

from app import errors
from app.pipelines.running.services import Services
from app.store.connection import sql, transactions
from benchmarks.fake_embedder import FakeEmbedder
from benchmarks.speed import (
    benchmark,
    budgets,
    corpus,
    passages,
    texts,
    timings,
    vectors,
)
from benchmarks.speed import owner as owner_sql
from benchmarks.speed.timings import Target, Timing

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


async def test_every_statement_is_timed(report):
    names = {
        "hybrid",
        "vector leg",
        "text leg",
        "bare HNSW",
        "bare HNSW, same ef_search",
        "textbook OR",
        "textbook AND",
        "search",
        "search, re-ranked with MMR",
    }
    assert report.timings.keys() == names
    assert all(0 < timing.p50 <= timing.p95 for timing in report.timings.values())
    assert json.loads(json.dumps(report.as_json()))["questions"] == 12


async def test_a_ratio_divides_the_medians(report):
    p50 = {name: timing.p50 for name, timing in report.timings.items()}
    assert report.ratios["textbook OR / hybrid"] == round(p50["textbook OR"] / p50["hybrid"], 2)
    assert report.ratios["hybrid / bare HNSW"] == round(p50["hybrid"] / p50["bare HNSW"], 2)


async def test_a_corpus_of_exactly_scanned_size_is_found_whole(report):
    assert report.recall == {100.0: 1.0, 10.0: 1.0, 1.0: 1.0, 0.1: 1.0}
    assert report.overlap == 1.0


async def test_or_matches_more_than_and_which_matches_the_chunk_that_was_asked_for(report):
    assert report.matches_or > report.matches_and >= 1


async def test_both_users_get_their_share(report, owner: asyncpg.Connection):
    held = await owner.fetch("SELECT user_id, count(*) AS chunks FROM stepwell.embeddings GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in held] == [("bench", 240), ("bench-other", 12)]


async def test_a_tenth_a_hundredth_and_a_thousandth_of_the_buckets_pass_the_filters():
    values = {key: next(iter(s.metadata.values())) for s in corpus.SELECTIVITIES for key in s.metadata}
    rows = [json.loads(corpus._metadata(bucket)) for bucket in range(corpus.BUCKETS)]
    passing = {key: sum(row[key] == value for row in rows) for key, value in values.items()}
    assert passing == {"tenth": 1_000, "hundredth": 100, "thousandth": 10}


async def test_a_second_run_uses_the_corpus_of_the_first(parameters, drawn, report, address, database, folder):
    again = FakeEmbedder(dimension=64)
    second = await benchmark.run(
        parameters, services=Services(database, again), owner_dsn=address.owner_dsn, folder=folder
    )
    assert second.corpus == report.corpus
    assert not set(again.documents) & set(passages.mixed(drawn))


async def test_the_indexes_are_recreated_as_the_schema_defines_them(report, owner: asyncpg.Connection):
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = ANY ($1) ORDER BY indexname"
    names = ["ix_chunks_tsv", "ix_embeddings_embedding"]
    gin, hnsw = [row["indexdef"] for row in await owner.fetch(query, names)]
    assert "USING gin (tsv)" in gin
    assert "USING hnsw (embedding halfvec_cosine_ops) WITH (m='16', ef_construction='200')" in hnsw


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
            await writing.execute(sql.statement("count_documents"), {**binds, "sign": 1})
    assert {name: await owner.fetch(query) for name, query in DERIVED.items()} == built


async def test_a_database_with_somebodys_documents_is_refused(owner_and_database):
    owner, dsn, _database = owner_and_database
    await owner.execute("INSERT INTO stepwell.tenants (user_id) VALUES ('somebody')")
    async with owner_sql.owning(dsn) as bulk:
        with pytest.raises(errors.Conflict, match="empty"):
            await bulk.begin_load(["bench"])
    assert await owner.fetchval("SELECT count(*) FROM stepwell.tenants WHERE user_id = 'somebody'") == 1


async def test_the_exact_bm25_is_computed_from_the_tsvectors_alone(owner_and_database):
    owner, dsn, _database = owner_and_database
    async with owner_sql.owning(dsn) as bulk:
        await owner.execute("DELETE FROM stepwell.tenants WHERE user_id = 'somebody'")
        await bulk.begin_load(["bench"])
        await bulk.add("bench", _batch(documents=2, chunks_each=2), first_no=1)
        scores = [score for _chunk, score in await bulk.exact_bm25("bench", "own1 | common", limit=10)]
    rare, common = np.log(1 + (4 - 1 + 0.5) / 1.5), np.log(1 + 0.5 / 4.5)
    assert scores == pytest.approx([rare + common, common, common, common])


async def test_made_up_words_are_all_different_and_unchanged_by_stemmers(owner: asyncpg.Connection):
    words = texts.vocabulary()
    assert len(set(words)) == texts.VOCABULARY
    some = list(words[::1000])
    assert set(await owner.fetchval("SELECT tsvector_to_array(to_tsvector('english', $1))", " ".join(some))) == set(
        some
    )


async def test_a_question_holds_six_different_content_words_of_its_chunk():
    rng = np.random.default_rng(5)
    for content in texts.chunks(20, rng):
        words = texts.question(content, rng)
        assert len(set(words)) == 6
        assert set(words) <= set(content.split()) - set(texts.STOP_WORDS)


async def test_frequent_words_occur_in_far_more_chunks_than_rare_ones():
    contents = [set(text.split()) for text in texts.chunks(300, np.random.default_rng(1))]
    held = [sum(word in content for content in contents) for word in texts.vocabulary()[:2000]]
    assert sum(held[:20]) > 10 * sum(held[-20:])


async def test_made_up_vectors_have_length_one_and_lie_as_far_apart_as_the_real_ones():
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(20, 32))
    real = vectors.unit(np.repeat(centres, 20, axis=0) + rng.normal(size=(400, 32)))
    mixer = vectors.mixer(real)
    made = mixer.sample(rng.integers(0, 400, 400), rng)
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.ones(400), abs=1e-5)
    wanted, found = vectors.distances(real).nearest[2], vectors.distances(made).nearest[2]
    assert found == pytest.approx(wanted, rel=0.2)


async def test_questions_ask_for_passages_that_were_not_mixed(drawn):
    mixed, asked = passages.mixed(drawn), passages.held_out(drawn)
    assert not set(mixed) & set(asked)
    assert set(mixed) | set(asked) == set(drawn)


async def test_the_sample_notes_give_enough_passages_in_a_fixed_order():
    first = passages.load(None)
    assert len(first) == len(set(first)) > 200
    assert first == passages.load(None)


async def test_a_folder_with_too_few_passages_is_refused(tmp_path):
    (tmp_path / "one.txt").write_text("A single passage that is long enough to be taken, but alone.", encoding="utf-8")
    with pytest.raises(errors.BadRequest, match="fewer than 30"):
        passages.load(tmp_path)


@pytest.mark.parametrize(
    ("figure", "at_least", "verdict"),
    [(10, True, "strive"), (5, True, "must"), (4.9, True, "missed"), (5, False, "strive"), (11, False, "missed")],
)
async def test_a_budget_says_how_far_a_figure_reaches(figure, at_least, verdict):
    must, strive = (5, 10) if at_least else (10, 5)
    assert budgets.Budget("x", figure, must, strive, at_least=at_least).verdict == verdict


async def test_a_percentile_is_a_measured_value():
    assert Timing.of([3.0, 1.0, 2.0, 10.0]) == Timing(2.0, 10.0)


async def test_a_leg_is_timed_alone(report, address, database, embedder):
    async with owner_sql.owning(address.owner_dsn) as owner:
        asked = vectors.unit([embedder._embed("anything")])
        question = (await corpus.questions(owner, asked, chunks=240, count=1, seed=1))[0]
        stand = await Target.of(database, owner, embedder.model)
        assert stand.statements().keys() == report.timings.keys()
    vector = await timings.retrieve(database, timings.request(question, timings.VECTOR_ONLY))
    text = await timings.retrieve(database, timings.request(question, timings.TEXT_ONLY))
    assert vector.vector_found
    assert not vector.text_found
    assert text.text_found
    assert not text.vector_found


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
