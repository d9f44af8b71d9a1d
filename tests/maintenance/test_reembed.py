"""The embedding model is replaced while users search and write: no search fails, and none mixes two models."""

import asyncio
import contextvars
import dataclasses
import functools
import itertools
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import harness
import pytest
import schema_dump
import small_models
from harness import Tenant

from app import errors
from app.concurrency import offload
from app.database import transactions
from app.database.schema import migration, reembedding
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents.store import staged_documents
from app.documents.storing import document_writes, ingest, large_documents
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.jobs import operations as job_operations
from app.jobs import workers
from app.maintenance.commands import reembed
from app.query import model_replacement
from app.query.model_replacement import SwitchingEmbedder
from app.search.store import hybrid_search
from app.services import Services
from benchmarks.fake_embedder import FakeEmbedder

OLD, NEXT = ("fake", 384), ("next", 96)


@pytest.fixture
async def address(new_database: Callable[..., Awaitable[Any]], template: str) -> Any:
    """A database for one test: the model of the whole database changes."""
    return await new_database(template)


@pytest.fixture
async def database(address: Any) -> AsyncIterator[Database]:
    """The database, opened as the service's role; its vectors are said to be of the fake model."""
    await address.fetch("UPDATE stepwell.embedding_identity SET model = 'fake', keyed_by = 'fake'")
    async with transactions.connect(address.service_dsn, pool_size=6, pool_wait_s=30.0) as opened:
        yield opened


@pytest.fixture
async def owner(address: Any) -> AsyncIterator[asyncpg.Connection]:
    connection = await address.connect()
    yield connection
    await connection.close()


@pytest.fixture
async def owning(address: Any) -> AsyncIterator[Database]:
    async with transactions.connect(address.owner_dsn, pool_size=2, pool_wait_s=30.0) as opened:
        yield opened


@dataclasses.dataclass(slots=True)
class SwitchingTenant(Tenant):
    """A user of a process that has both models."""

    old: FakeEmbedder = dataclasses.field(default_factory=lambda: FakeEmbedder(name=OLD[0], dimension=OLD[1]))
    next: FakeEmbedder = dataclasses.field(default_factory=lambda: FakeEmbedder(name=NEXT[0], dimension=NEXT[1]))

    def filling(self) -> Services:
        """The services of the command, which computes vectors of the next model only."""
        return dataclasses.replace(self.services(), embedder=self.next)


async def _tenant(database: Database, **fields: Any) -> SwitchingTenant:
    tenant = SwitchingTenant(database, **fields)
    stored = await reembedding.read_stored(database)
    tenant.embedder = SwitchingEmbedder([tenant.old, tenant.next], stored)
    return tenant


async def _run(services: Services, owning: Database) -> None:
    await reembed.begin(owning, NEXT)
    async for _state in reembed.fill(services, owning):
        pass


async def _tables(owner: asyncpg.Connection) -> set[str]:
    rows = await owner.fetch("SELECT relname FROM pg_class WHERE relname ~ '^(ix_|pk_)?(embeddings|entity_vectors)'")
    return {row["relname"] for row in rows}


def _shape(address: Any) -> set[str]:
    """The lines of the schema. Columns may stand in another order, and their checks may have other names."""
    schema = re.sub(r"CONSTRAINT \w+_not_null ", "", schema_dump.dump(address))
    return {line.strip().rstrip(",") for line in schema.splitlines()}


async def test_documents_and_entities_get_vectors_of_the_new_model_and_keep_their_ids(address, database, owning, owner):
    tenant = await _tenant(database)
    await tenant.many([Upload(f"Stone {n} lies in lime mortar.", uri=f"s{n}") for n in range(40)])
    drafts = [EntityDraft("mason", "person", description="Lays stones in lime.")]
    await entities.add(drafts, tenant.user_id, db=database, embedder=tenant.embedder)
    other = await _tenant(database)
    await other.add("Slate roofs the well.")
    await other.add("", title="Clay pipes")
    before = await tenant.ask("stone 7 lies in lime", mode="semantic")
    shape = _shape(address)
    names = await _tables(owner)

    await _run(tenant.filling(), owning)

    after = await tenant.ask("stone 7 lies in lime", mode="semantic")
    assert after.hits[0].candidate.chunk_id == before.hits[0].candidate.chunk_id
    assert after.hits[0].candidate.vector_score != before.hits[0].candidate.vector_score
    assert tenant.next.queries
    stats = await documents.stats(tenant.user_id, db=database)
    assert (stats.embedding_model, stats.embedding_dimension, stats.vectors) == (*NEXT, 40)
    assert (await other.ask("slate roofs")).hits
    assert "Clay pipes" in tenant.next.documents + other.next.documents, "a title alone is embedded once, as at first"
    assert await _tables(owner) == names
    assert {line.replace("halfvec(96)", "halfvec(384)") for line in _shape(address)} == shape
    await migration.check(database, model=NEXT[0], dimension=NEXT[1])
    assert await owner.fetchval("SELECT vector_dims(embedding) FROM stepwell.entity_vectors") == NEXT[1]
    # The keys are those of before, so unchanged text is not embedded again.
    embedded = len(tenant.next.documents)
    assert (await tenant.add("Stone 7 lies in lime mortar.", "copy")).embedded == 0
    assert len(tenant.next.documents) == embedded
    assert not (await owner.fetchval("SELECT count(*) FROM stepwell.embedding_target"))
    with pytest.raises(errors.SchemaMismatch, match="STEPWELL_NEXT_EMBEDDER"):
        await migration.check(database, model=OLD[0], dimension=OLD[1])


async def test_cancelling_keeps_the_model_and_drops_what_was_computed(database, owning, owner) -> None:
    tenant = await _tenant(database)
    await tenant.add("Lime mortar.")
    names = await _tables(owner)
    await reembed.begin(owning, NEXT)
    assert await _tables(owner) != names
    async for _state in reembed.fill(tenant.filling(), owning):
        break
    assert await reembed.drop(owning)
    assert await _tables(owner) == names
    assert not await reembed.drop(owning)
    assert not await reembedding.switch(owning), "of another command that had just filled them"
    assert (await documents.stats(tenant.user_id, db=database)).embedding_model == "fake"
    assert (await tenant.ask("lime mortar")).hits
    with pytest.raises(errors.Conflict, match="completed or cancelled"):
        async for _state in reembed.fill(tenant.filling(), owning):
            pass
    await _run(tenant.filling(), owning)
    assert (await tenant.ask("lime mortar")).hits


async def test_a_third_model_is_refused_while_another_one_is_being_filled(owning: Database, database: Database) -> None:
    await reembed.begin(owning, NEXT)
    await reembed.begin(owning, NEXT)
    with pytest.raises(errors.Conflict, match=r"next \(96\)"):
        await reembed.begin(owning, ("third", 96))


@pytest.mark.parametrize("number", [1, 2])
async def test_beginning_and_cancelling_succeed_although_the_answer_to_a_commit_is_lost(owning, number: int) -> None:
    with harness.lost_commit(number) as is_lost:
        await reembed.begin(owning, NEXT)
        assert is_lost()
    with harness.lost_commit(number + 1):  # the first one is that of the look-up
        assert await reembed.drop(owning)
    assert not await reembed.drop(owning)


async def test_dropping_tables_waits_until_a_vacuum_gives_way_and_nobody_waits_for_it(database, owning, owner) -> None:
    tenant = await _tenant(database)
    await reembed.begin(owning, NEXT)
    waits = """
    SELECT count(*) FROM pg_locks
    WHERE relation = 'stepwell.embeddings'::regclass AND NOT granted
      AND waitstart < clock_timestamp() - current_setting('deadlock_timeout')::interval
    """
    async with owner.transaction():
        await owner.execute("LOCK TABLE stepwell.embeddings IN SHARE UPDATE EXCLUSIVE MODE")  # as VACUUM does
        dropping = asyncio.create_task(reembedding.abandon(owning))
        while not await owner.fetchval(waits):
            assert not dropping.done()
        await tenant.add("Lime mortar.")
        assert (await tenant.ask("lime")).hits
    await dropping
    assert await owner.fetchval("SELECT to_regclass('stepwell.embeddings_next')") is None


async def test_a_write_fills_both_tables_and_a_failing_new_model_does_not_fail_it(database, owning, owner) -> None:
    tenant = await _tenant(database)
    await reembed.begin(owning, NEXT)
    await tenant.add("Lime mortar.")
    assert await owner.fetchval("SELECT count(*) FROM stepwell.embeddings_next") == 1
    tenant.next.failing = True
    await tenant.add("Slate.")
    assert await owner.fetchval("SELECT count(*) FROM stepwell.embeddings_next") == 1
    assert await owner.fetchval("SELECT count(*) FROM stepwell.embeddings") == 2
    async with owning.shared() as shared:
        assert await reembedding.gaps(shared) == {tenant.user_id: 1}


async def test_a_process_without_the_new_model_refuses_to_search_and_names_the_setting(database, owning) -> None:
    tenant = await _tenant(database)
    await tenant.add("Lime mortar.")
    alone = harness.Tenant(database, user_id=tenant.user_id)
    alone.embedder = SwitchingEmbedder([tenant.old], await reembedding.read_stored(database))
    assert (await alone.ask("lime")).hits
    await _run(tenant.filling(), owning)
    with pytest.raises(errors.SchemaMismatch, match="back to what gives next"):
        await alone.ask("lime")
    with pytest.raises(errors.SchemaMismatch, match="back to what gives next"):
        await alone.add("Slate.")


async def test_a_transaction_of_the_previous_model_fails_after_the_switch(database: Database, owning: Database) -> None:
    tenant = await _tenant(database)
    await tenant.add("Lime mortar.")
    switch = model_replacement.of(tenant.embedder)
    assert switch is not None
    with switch.pinned():
        await asyncio.create_task(_run((await _tenant(database)).filling(), owning), context=contextvars.Context())
        with pytest.raises(errors.ModelReplaced):
            async with database.reading(tenant.user_id):
                pass


async def test_a_large_document_that_is_stored_while_the_model_is_replaced_gets_vectors_of_the_new_one(
    database: Database, owning: Database, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_documents, "LARGE", 50)
    tenant = await _tenant(database)
    text = "# Lime\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Stone {n} lies in lime mortar. " * 20 for n in range(9))
    queued = await ingest.store_one(Upload(text, uri="large"), tenant.user_id, tenant.services(), ingest.IN_JOB)
    publish = staged_documents.begin
    stopped: list[bool] = []

    async def stop_first(*args: Any, **kwargs: Any) -> bool:
        """Stop the first attempt between staging the vectors and publishing the document."""
        if not stopped:
            stopped.append(True)
            raise errors.Busy("stopped here")
        return await publish(*args, **kwargs)

    monkeypatch.setattr(staged_documents, "begin", stop_first)
    with pytest.raises(errors.Busy):
        await workers.run_next(tenant.services(), [large_documents.KIND], user_id=tenant.user_id)
    assert await owner.fetchval("SELECT count(embedding) FROM stepwell.staged_chunks") > 1
    await _run(tenant.filling(), owning)
    assert await owner.fetchval("SELECT count(embedding) FROM stepwell.staged_chunks") == 0
    await owner.execute("UPDATE stepwell.jobs SET run_at = now()")
    assert await workers.run_next(tenant.services(), [large_documents.KIND], user_id=tenant.user_id) is not None
    stored = await documents.get(queued.document_id, tenant.user_id, db=database)
    assert stored.chunk_count == await owner.fetchval("SELECT count(*) FROM stepwell.embeddings") > 1
    assert tenant.embedder.model.name == "next"


@pytest.mark.parametrize("letters", [2, 12])
@pytest.mark.parametrize("step", ["cut", "embed"])
async def test_a_large_document_is_stored_whole_if_the_model_is_replaced_by_one_that_counts_other_tokens(
    database: Database, owning: Database, owner: asyncpg.Connection, monkeypatch, step: str, letters: int
) -> None:
    for name, size in {"LARGE": 50, "CHUNKS": 4}.items():
        monkeypatch.setattr(large_documents, name, size)
    tenant = await _tenant(database)
    tokens = dataclasses.replace(tenant.next.model, token_starts=lambda text: range(0, len(text), letters))
    monkeypatch.setattr(tenant.next, "_model", tokens)
    text = " ".join(f"Stone {n} lies in lime mortar." for n in range(400))
    queued = await ingest.store_one(Upload(text, uri="large"), tenant.user_id, tenant.services(), ingest.IN_JOB)
    module, called = {"cut": (large_documents, "_chunks"), "embed": (document_writes, "find_vectors")}[step]
    real, calls = getattr(module, called), itertools.count(1)
    run_stoppable = offload.run_stoppable

    async def replace_before_second(*args: Any) -> Any:
        if next(calls) == 2:
            await asyncio.create_task(_run(tenant.filling(), owning), context=contextvars.Context())
        return await (real if step == "embed" else run_stoppable)(*args)

    async def run(characters: int, work: Callable[[], Any]) -> Any:
        is_slice = isinstance(work, functools.partial) and work.func is real
        return await (replace_before_second if is_slice else run_stoppable)(characters, work)

    if step == "embed":
        monkeypatch.setattr(module, called, replace_before_second)
    else:
        monkeypatch.setattr(offload, "run_stoppable", run)
    await workers.run_next(tenant.services(), [large_documents.KIND], user_id=tenant.user_id)
    assert tenant.embedder.model.name == "next"
    stored = await documents.get(queued.document_id, tenant.user_id, db=database)
    chunks = await documents.chunks(queued.document_id, tenant.user_id, db=database, limit=500, offset=0)
    assert stored.chunk_count == len(chunks) == await owner.fetchval("SELECT count(*) FROM stepwell.embeddings") > 8
    assert chunks[-1].end_offset == len(text)
    for before, after in itertools.pairwise(chunks):
        assert after.start_offset <= before.end_offset + 1, "nothing is left out"
        assert after.end_offset > before.end_offset, "nothing is repeated"
    job = await job_operations.get(queued.job_id, tenant.user_id, db=database)
    assert job.result["embedded"] == len(chunks)


async def test_a_model_of_more_than_two_thousand_dimensions_is_stored_with_sixteen_bits_a_number(
    database: Database, owning: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = await _tenant(database)
    tenant.next = FakeEmbedder(name="wide", dimension=2_100)
    tenant.embedder = SwitchingEmbedder([tenant.old, tenant.next], await reembedding.read_stored(database))
    await tenant.many([Upload(f"Stone {n} lies in lime mortar.", uri=f"s{n}") for n in range(30)])
    await reembed.begin(owning, ("wide", 2_100))
    async for _state in reembed.fill(tenant.filling(), owning):
        pass
    await migration.check(database, model="wide", dimension=2_100)
    for exact_floor in (hybrid_search.EXACT_FLOOR, 0):
        monkeypatch.setattr(hybrid_search, "EXACT_FLOOR", exact_floor)
        monkeypatch.setattr(hybrid_search, "EXACT_FACTOR", hybrid_search.EXACT_FACTOR if exact_floor else 0.0)
        found = await tenant.ask("stone 7 lies in lime mortar", mode="semantic")
        assert found.hits[0].candidate.uri == "s7"
        assert found.hits[0].candidate.vector_score == pytest.approx(1.0, abs=2e-3)
    assert (await tenant.add("Stone 31 lies in lime mortar.", "new")).embedded == 1
    assert (await tenant.ask("stone 7 lime", rerank="cosine", mmr=True)).hits


def test_the_built_in_model_is_replaced_by_one_in_a_folder(stepwell, tmp_path, monkeypatch) -> None:
    notes, folder = tmp_path / "notes", small_models.embedder(tmp_path / "small")
    notes.mkdir()
    for name, text in {"lime": "lime mortar lime", "well": "water of the well"}.items():
        (notes / f"{name}.md").write_text(text, encoding="utf-8")
    assert stepwell("ingest", notes).code == 0
    missing = stepwell("reembed")
    assert missing.code != 0
    assert "STEPWELL_NEXT_EMBEDDER" in missing.err
    with monkeypatch.context() as other:
        other.setenv("STEPWELL_EMBEDDER", "onnx")
        other.setenv("STEPWELL_EMBEDDER_MODEL", str(folder))
        refused = stepwell("search", "water")
        assert refused.code != 0
        assert "run `stepwell reembed`" in " ".join(refused.err.split())

    monkeypatch.setenv("STEPWELL_NEXT_EMBEDDER", json.dumps({"embedder": "onnx", "model": str(folder)}))
    assert "No re-embedding is in progress." in stepwell("reembed", "--cancel").out
    assert stepwell("reembed", "--json").json == {"model": "small", "dimension": small_models.DIMENSION}
    assert "small (8 dimensions)" in stepwell("reembed").out

    found = stepwell("search", "lime mortar", "--mode", "semantic", "--json").json
    assert found["results"][0]["content"] == "lime mortar lime"
    findings = {finding["name"]: finding for finding in stepwell("doctor", "--json").json["findings"]}
    assert findings["embedding"]["level"] == findings["schema"]["level"] == "ok"
    assert findings["next_embedder"]["message"] == "small returns 8 dimensions"
    assert findings["embedding"]["message"] == "vectors of small with 8 dimensions"
    monkeypatch.delenv("STEPWELL_NEXT_EMBEDDER")
    behind = stepwell("search", "lime")
    assert behind.code != 0
    assert "back to what gives small" in " ".join(behind.err.split())
