"""A job links the entities that a language model names in a document; storing it neither waits nor fails with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import linking
import pytest
import sqlalchemy as sa
from fake_provider import FakeProvider, serve
from harness import Tenant

from app import errors
from app.database.transactions import Writing
from app.documents import document_patches
from app.documents import operations as documents
from app.entities import operations as entities
from app.entities.linking import llm_extraction, mention_extraction
from app.entities.types import EntityFilter
from app.jobs import store as jobs
from app.jobs import workers
from app.jobs.store import Job
from app.models.remote.chat import ChatLlm
from app.models.remote_calls import CallTimes
from app.services import ChunkingOptions, Services
from app.text.names import metadata_names

KIND = "extract_entities"
TEXT = "Ana Silva, the lead mason, met lundby ab, the Elm Yard, about the third landing. A. Silva signed on 12 May."
GOOD = [
    {
        "type": "person",
        "name": "Ana Silva",
        "aliases": ["A. Silva", "Anita", "the", "the lead mason"],
        "role": "lead mason",
    },
    {"type": "Vendor", "name": "Lundby AB", "aliases": ["the Elm Yard"], "role": None},
    {"type": "person", "name": "Grace Hopper", "aliases": "none"},
    {"type": "vendor", "name": 7},
    {"type": "date", "name": "12 May"},
    {"name": "third\u0000 landing", "type": "no type!", "role": "captain"},
    "Ana Silva",
]


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    """A server in place of an OpenAI-compatible endpoint."""
    async with serve() as served:
        served.openai(json.dumps({"entities": GOOD}))
        yield served


@pytest.fixture
async def services(tenant: Tenant, provider: FakeProvider) -> AsyncIterator[Services]:
    """Services with the setting on."""
    tenant.chunking_options = ChunkingOptions(llm_entities=True)
    llm = ChatLlm(kind="openai", url=provider.url, model="tiny", times=CallTimes(4.0, bulk_s=0.0))
    yield tenant.services(llm=llm)
    await llm.aclose()


async def _run_job(tenant: Tenant, services: Services) -> int | None:
    """Run the next job."""
    ran = await workers.run_next(services, [llm_extraction.KIND], user_id=tenant.user_id)
    return None if ran is None else ran[1]


async def _extracted(tenant: Tenant) -> dict[str, tuple[Any, ...]]:
    only = EntityFilter(origin="metadata")
    found = await entities.page(tenant.user_id, db=tenant.db, limit=50, only=only)
    return {one.name: (one.type, one.aliases, one.role) for one in found}


QUEUED = 2_000
NEVER_ANALYSED = """
DELETE FROM pg_statistic WHERE starelid = 'stepwell.jobs'::regclass;
UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = 'stepwell.jobs'::regclass;
"""
"""Puts the statistics of the table of jobs into their first state."""
STORED = {
    "Ana Silva": ("person", ("A. Silva",), "lead mason"),
    "Lundby AB": ("vendor", ("the Elm Yard",), None),
    "third landing": ("name", (), None),
}


async def test_names_that_occur_in_the_text_are_stored_and_linked_and_go_with_the_document(
    tenant: Tenant, services: Services, provider: FakeProvider, owner: Any
) -> None:
    await tenant.add("Written by a. silva before.", "older")
    stored = await tenant.add(TEXT, "note", title="Minutes")
    assert (provider.requests, await _extracted(tenant)) == ([], {}), "the model is not asked while storing"
    provider.openai("There are none: []")
    assert await _run_job(tenant, services) == 0
    provider.openai(json.dumps({"entities": GOOD}))
    assert await _run_job(tenant, services) == 3
    assert await _extracted(tenant) == STORED
    await linking.refresh(tenant)
    links = await linking.of_name(owner, tenant, "Ana Silva", "metadata")
    assert links == {("note", 0, "text", 2), ("note", 0, "metadata", 1), ("older", 0, "text", 1)}
    answer = await linking.asked(tenant, "what did the lead mason sign?")
    assert ("Ana Silva", "role") in {(match.name, match.matched_by) for match in answer.entities}
    assert (await tenant.add(TEXT, "note", title="Minutes")).status == "unchanged"
    assert await _run_job(tenant, services) is None, "an unchanged document is not asked about again"
    async with tenant.db.reading(tenant.user_id) as reading:
        checked = await mention_extraction.compute_expected(reading, stored.document_id, keys=metadata_names.KEYS)
    expected = {(mention.entity_id, mention.kind, mention.count) for mention in checked[0]}
    assert expected == set(await _mentions(owner, tenant, stored.document_id))
    await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
    assert await _extracted(tenant) == {}
    await linking.refresh(tenant)
    assert await linking.of_name(owner, tenant, "Ana Silva", "metadata") == set()


async def _mentions(owner: Any, tenant: Tenant, document_id: UUID) -> list[tuple[Any, ...]]:
    query = "SELECT entity_id, kind, count FROM stepwell.mentions WHERE user_id = $1 AND document_id = $2"
    return [tuple(row) for row in await owner.fetch(query, tenant.user_id, document_id)]


@pytest.mark.parametrize(("text", "title"), [("Ana Silva left.", "Minutes"), (TEXT, "Grace Hopper")])
async def test_a_version_that_is_replaced_while_its_job_begins_is_asked_about_too(
    tenant: Tenant,
    services: Services,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    title: str,
) -> None:
    await tenant.add(text, "note", title=title)
    real, running = jobs.enqueue_for_documents, list[asyncio.Task[int | None]]()

    async def then_the_job_begins(db: Writing, kind: str, document_ids: Any) -> None:
        await real(db, kind, document_ids)
        running.append(asyncio.create_task(_run_job(tenant, services)))
        while not provider.requests:  # noqa: ASYNC110 - the fake server sets no event
            await asyncio.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "enqueue_for_documents", then_the_job_begins)
        await tenant.add(TEXT, "note", title="Minutes")
    await asyncio.gather(*running)
    assert await _run_job(tenant, services) == 3
    assert await _extracted(tenant) == STORED
    assert await _run_job(tenant, services) is None


async def test_a_model_that_fails_leaves_the_document_stored_and_the_job_waiting(tenant, services, provider, owner):
    stored = await tenant.add(TEXT, "note")
    due = "UPDATE stepwell.jobs SET run_at = now() WHERE user_id = $1"
    for fault in ("error", "garbage", "reset", "busy"):
        provider.misbehave(fault)
        with pytest.raises(errors.ProviderError):
            await _run_job(tenant, services)
        assert await _run_job(tenant, services) is None, "the next attempt is later"
        await owner.execute(due, tenant.user_id)
    provider.misbehave(None)
    llm = ChatLlm(
        kind="openai", url=provider.url, model="tiny", times=CallTimes(4.0, bulk_s=0.0)
    )  # its circuit breaker is closed
    assert await _run_job(tenant, tenant.services(llm=llm)) == 3
    await llm.aclose()
    assert await _extracted(tenant) == STORED
    query = "SELECT content FROM stepwell.chunks WHERE user_id = $1 AND document_id = $2"
    assert await owner.fetchval(query, tenant.user_id, stored.document_id) == TEXT


async def test_a_change_of_metadata_keeps_the_entities_and_another_text_asks_again(tenant, services, provider) -> None:
    stored = await tenant.add(TEXT, "note")
    await _run_job(tenant, services)
    patch: dict[str, Any] = {"metadata": {"author": "Ben"}}
    await document_patches.apply(stored.document_id, patch, tenant.user_id, services)
    assert await _extracted(tenant) == {**STORED, "Ben": ("person", (), None)}
    assert await _run_job(tenant, services) is None
    patch = {"content": "Another text, about Ana Silva.", "metadata": {"author": None}}
    await document_patches.apply(stored.document_id, patch, tenant.user_id, services)
    assert await _extracted(tenant) == {}, "until the job has asked again"
    assert await _run_job(tenant, services) == 1
    assert await _extracted(tenant) == {"Ana Silva": ("person", (), None)}
    await tenant.add("Nothing of this.", "note")
    await tenant.add("Lundby AB alone.", "note")
    assert await _extracted(tenant) == {}
    assert await _run_job(tenant, services) == 1
    assert await _run_job(tenant, services) is None, "one job waits for a document, however often it is stored"
    assert set(await _extracted(tenant)) == {"Lundby AB"}


async def test_a_role_that_is_known_stays(tenant: Tenant, services: Services, provider: FakeProvider) -> None:
    await tenant.add(TEXT, "note")
    await _run_job(tenant, services)
    provider.openai(json.dumps({"entities": [{"type": "person", "name": "Ana Silva", "role": "captain"}]}))
    await tenant.add("Ana Silva, the captain, came later.", "later")
    assert await _run_job(tenant, services) == 1
    assert await _extracted(tenant) == STORED


async def test_without_the_setting_nothing_is_asked(tenant: Tenant, services: Services, provider: FakeProvider) -> None:
    await tenant.add(TEXT, "queued")
    tenant.chunking_options = ChunkingOptions()
    await tenant.add(TEXT, "note")
    assert await _run_job(tenant, tenant.services(llm=services.llm)) is None, "a worker with the setting runs the other"
    assert provider.requests == []
    assert await _run_job(tenant, services) == 3
    assert await _run_job(tenant, services) is None


async def test_a_long_document_is_asked_about_in_a_few_bounded_requests(tenant, services, provider) -> None:
    await tenant.add("\n\n".join(f"Landing {n}. {'Stone by stone it was laid. ' * 20}" for n in range(80)), "long")
    await _run_job(tenant, services)
    sent = [json.loads(body["messages"][1]["content"].split("\n")[1])["text"] for _path, body in provider.requests]
    assert len(sent) == llm_extraction.PARTS
    assert max(map(len, sent)) <= llm_extraction.PART


async def test_jobs_are_queued_claimed_and_ended_by_reading_few_rows_while_many_wait(tenant, owner) -> None:
    documents_of_jobs = [uuid4() for _ in range(QUEUED)]
    async with tenant.db.writing(tenant.user_id) as writing:
        await jobs.enqueue_for_documents(writing, KIND, documents_of_jobs)
    # Autovacuum may have analysed the table when it was nearly empty, or do so now.
    await owner.execute("ALTER TABLE stepwell.jobs SET (autovacuum_enabled = false)")
    for statistics in (NEVER_ANALYSED, "ANALYZE stepwell.jobs"):
        await owner.execute(statistics)
        new = uuid4()
        async with tenant.db.writing(tenant.user_id) as writing:
            before = await _jobs_read(writing)
            await jobs.enqueue_for_documents(writing, KIND, [new, documents_of_jobs[0]])
            await jobs.enqueue(writing, "relink")
            await jobs.prune(writing, Job(uuid4(), tenant.user_id, KIND, {}, {}, attempts=1), kept=0)
            assert await _jobs_read(writing) - before < QUEUED / 4
        documents_of_jobs.append(new)
        async with tenant.db.shared() as shared:
            before = await _jobs_read(shared)
            claimed = await jobs.claim(shared, kinds=[KIND], lease_s=9, user_id=tenant.user_id)
            assert await jobs.claim(shared, kinds=[KIND], lease_s=9, user_id=tenant.user_id) is None
            assert await _jobs_read(shared) - before < 5 * QUEUED, "not each waiting job for each other one"
            assert claimed is not None
            assert await jobs.release(shared, claimed)
    waiting = "SELECT payload ->> 'document_id' FROM stepwell.jobs WHERE user_id = $1 AND kind = $2"
    found = await owner.fetch(waiting, tenant.user_id, KIND)
    assert sorted(UUID(row[0]) for row in found) == sorted(documents_of_jobs), "one job waits for each document"


async def _jobs_read(db: Writing) -> int:
    """The rows of the table of jobs that this connection has read."""
    query = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'jobs'"
    return int(await db.scalar(sa.text(query)))
