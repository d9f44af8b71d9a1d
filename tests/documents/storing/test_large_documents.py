"""A large document is stored by a job in slices, and readers see its old version or its new one."""

import asyncio
import dataclasses
import itertools
from collections.abc import Callable, Coroutine, Hashable
from datetime import UTC, datetime
from typing import Any

import harness
import pytest
from harness import Tenant

from app import errors
from app.concurrency.limiter import Limiter, Turn
from app.database import filters
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.documents import document_patches, selections
from app.documents import operations as documents
from app.documents.store import document_rows, hidden_chunks, staged_documents
from app.documents.store import documents as store_documents
from app.documents.storing import document_drafts, ingest, large_documents
from app.documents.types import IngestResult, RowCounts, Upload
from app.entities import operations as entities
from app.entities.linking import mention_extraction, mention_refresh
from app.entities.types import EntityDraft
from app.enums import Vector
from app.jobs import operations as job_operations
from app.jobs import store as jobs
from app.jobs import workers
from app.models.remote_calls import NotCalled, ProviderDown

OLD = "# Old stair\n\n" + "\n\n".join(f"Ana Silva laid old stone {n} in lime mortar." for n in range(80))
NEW = "# New stair\n\n" + "\n\n".join(
    f"## Landing {n}\n\n" + f"Ilse Brandt laid new stone {n} in cement. " * 6 for n in range(8)
)
WITH_GERMAN = (
    NEW
    + "\n\n## Treppe\n\n"
    + "Die Stufen der Treppe sind aus Stein, und der Maurer hat sie mit Mörtel auf die Wand gesetzt. " * 6
)
PATIENCE_S = 20


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which the texts above are large and have several slices in each step."""
    for name, size in {"LARGE": 2_000, "CHUNKS": 4, "LEXEMES": 30, "STAGED_ROWS": 6}.items():
        monkeypatch.setattr(large_documents, name, size)
    for name, size in {"MOST_CHUNKS": 6, "SLICE": 3, "PAGE": 7, "HEADINGS": 3}.items():
        monkeypatch.setattr(mention_refresh, name, size)


@pytest.mark.parametrize("number", [4, 7, 12, 20])
async def test_whoever_waits_for_a_large_document_does_so_beyond_a_lost_connection(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(workers, "RETRY_S", 0.01)
    with harness.lost_commit(number) as is_lost:
        stored = await tenant.add(NEW, "stair")
        assert is_lost()
    assert (stored.status, stored.job_id) == ("added", None)
    await tenant.assert_sound()


async def _queue(tenant: Tenant, content: str, uri: str = "stair", **fields: Any) -> IngestResult:
    return await ingest.store_one(Upload(content, uri=uri, **fields), tenant.user_id, tenant.services(), ingest.IN_JOB)


async def _work(tenant: Tenant) -> None:
    """Run all jobs of the user."""
    while await workers.run_next(tenant.services(), large_documents.KINDS, user_id=tenant.user_id):
        pass
    await mention_refresh.settle(tenant.user_id, tenant.services())


async def _chunks(tenant: Tenant, stored: IngestResult) -> list[tuple[Any, ...]]:
    listed = await documents.chunks(stored.document_id, tenant.user_id, db=tenant.db, limit=500, offset=0)
    return [(c.content, c.heading_path, c.start_offset, c.end_offset, c.page) for c in listed]


async def _assert_sound(tenant: Tenant) -> None:
    async with tenant.db.reading(tenant.user_id) as reading:
        assert not await hidden_chunks.exist(reading)
    await tenant.assert_sound()


async def _assert_as_stored_whole(tenant: Tenant, stored: IngestResult, content: str, **fields: Any) -> None:
    """The document has the chunks, links and statistics of one that is stored in one transaction."""
    fresh = Tenant(tenant.db)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_documents, "LARGE", 10**9)
        whole = await fresh.add(content, stored.uri, **fields)
    assert await _chunks(tenant, stored) == await _chunks(fresh, whole)
    found = await documents.stats(tenant.user_id, db=tenant.db)
    assert found == await documents.stats(fresh.user_id, db=tenant.db)


async def test_a_queued_document_is_stored_as_if_it_were_small(tenant: Tenant) -> None:
    fields: dict[str, Any] = {"page_starts": tuple(range(0, len(NEW), len(NEW) // 7)), "language": "en"}
    await tenant.add("Small one on stone.", "small")
    queued = await _queue(tenant, WITH_GERMAN, **fields)
    assert (queued.status, queued.chunk_count, queued.job_id is not None) == ("queued", 0, True)
    with pytest.raises(errors.NotFound):
        await documents.get(queued.document_id, tenant.user_id, db=tenant.db)
    await _work(tenant)
    assert queued.job_id is not None
    state = await job_operations.get(queued.job_id, tenant.user_id, db=tenant.db)
    assert (state.status, state.result["status"]) == ("done", "added")
    await documents.delete((await tenant.add("Small one on stone.", "small")).document_id, tenant.user_id, db=tenant.db)
    await _assert_as_stored_whole(tenant, queued, WITH_GERMAN, **fields)
    assert {chunk[-1] for chunk in await _chunks(tenant, queued)} >= {1, 4, 7}
    assert (await documents.stats(tenant.user_id, db=tenant.db)).languages.keys() == {"english", "german"}
    await _assert_sound(tenant)
    assert (await _queue(tenant, WITH_GERMAN, **fields)).status == "unchanged"


@pytest.mark.parametrize("content", ["Short stair.", OLD])
async def test_the_stored_version_that_is_sent_again_stays_although_a_job_was_to_replace_it(tenant, content) -> None:
    first = await tenant.add(content, "stair")
    queued = await _queue(tenant, NEW, uri="stair")
    again = await _queue(tenant, content, uri="stair")
    await _work(tenant)
    assert (again.status, again.document_id) == ("unchanged", first.document_id)
    assert queued.job_id is not None
    assert (await job_operations.get(queued.job_id, tenant.user_id, db=tenant.db)).status == "cancelled"
    await _assert_as_stored_whole(tenant, again, content)
    await _assert_sound(tenant)


async def test_readers_see_the_old_version_or_the_new_one_and_small_writes_succeed_meanwhile(tenant) -> None:
    stored = await tenant.add(OLD, "stair")
    await _work(tenant)
    old = await _chunks(tenant, stored)
    await _queue(tenant, "\n\n".join([NEW] * 3))  # takes longer than four rounds of what follows
    working = asyncio.create_task(_work(tenant))
    seen, numbers = [], itertools.count()
    while not working.done():
        number = next(numbers)
        seen.append(await _chunks(tenant, stored))
        await tenant.add(f"Small note {number} on stone and cement.", f"note-{number % 3}")
        answers = [await tenant.ask("stone", mode="lexical", limit=50), await tenant.ask("laid stone", limit=50)]
        for answer in answers:
            texts = {hit.candidate.content for hit in answer.hits if hit.candidate.uri == "stair"}
            assert texts, "no version is found"
            assert not any("old stone" in text for text in texts) or not any("new stone" in text for text in texts)
    await working
    await _work(tenant)
    new = await _chunks(tenant, stored)
    assert old != new
    assert all(chunks in (old, new) for chunks in seen)
    assert seen.index(new) if new in seen else True
    assert next(numbers) > 3
    await _assert_sound(tenant)


STEPS = {
    "stage": staged_documents,
    "stage_vectors": staged_documents,
    "copy": staged_documents,
    "finish": staged_documents,
    "unindex": hidden_chunks,
    "delete_ended": staged_documents,
}
LINKING = {"relink_chunks": mention_extraction}


class Killed(BaseException):
    """Ends a worker as if its process was killed."""


async def _work_until_killed(tenant: Tenant, owner: Any, step: str, *, call: int, does_it: bool = False) -> None:
    """Run jobs to a call of a step, before or after which the worker dies, and let its lease end."""
    module = (STEPS | LINKING)[step]
    real, calls = getattr(module, step), itertools.count(1)

    async def dying(*args: Any, **options: Any) -> Any:
        is_last = next(calls) == call
        result = None if is_last and not does_it else await real(*args, **options)
        if is_last:
            raise Killed
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, step, dying)
        with pytest.raises(Killed):
            await _work(tenant)
    await owner.execute("UPDATE stepwell.jobs SET leased_until = now() WHERE user_id = $1", tenant.user_id)


@pytest.mark.parametrize("step", STEPS)
async def test_a_job_whose_worker_died_in_any_step_is_continued(tenant: Tenant, owner: Any, step: str) -> None:
    await tenant.add(OLD, "stair")
    await _work(tenant)
    queued = await _queue(tenant, NEW)
    await _work_until_killed(tenant, owner, step, call=1 if step == "finish" else 2, does_it=True)
    await _work(tenant)
    await _assert_as_stored_whole(tenant, queued, NEW)
    await _assert_sound(tenant)


async def test_a_document_that_is_staged_whole_is_not_cut_again_by_another_model(tenant, owner, monkeypatch) -> None:
    queued = await _queue(tenant, NEW)
    await _work_until_killed(tenant, owner, "stage_vectors", call=1)
    real = document_drafts.passages
    with monkeypatch.context() as patch:
        patch.setattr(document_drafts, "passages", lambda draft, **options: real(draft, **options)[::2])
        await _work(tenant)
    await _assert_as_stored_whole(tenant, queued, NEW)
    await _assert_sound(tenant)


async def test_what_is_deleted_while_a_removal_of_postings_is_interrupted_is_removed_from_all_lexemes(
    tenant: Tenant, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_rows, "MOST_UNINDEXED", 5)
    await tenant.add("A kept stone of another stair.", "kept")
    first, second = await _queue(tenant, OLD, "first"), await _queue(tenant, OLD + " An abbey, too.", "second")
    await _work(tenant)
    await documents.delete(first.document_id, tenant.user_id, db=tenant.db)
    await _work_until_killed(tenant, owner, "unindex", call=2)
    await documents.delete(second.document_id, tenant.user_id, db=tenant.db)
    await _work(tenant)
    await _assert_sound(tenant)


@pytest.mark.parametrize(
    ("step", "by"),
    [
        *(("stage", "cancel"), ("stage", "delete"), ("stage_vectors", "large")),
        *(("copy", "cancel"), ("copy", "small"), ("copy", "delete")),
    ],
)
async def test_a_job_that_is_cancelled_or_superseded_in_any_step_leaves_nothing(tenant, monkeypatch, step, by) -> None:
    stored = await tenant.add("The stair before.", "stair")
    job_id = (await _queue(tenant, OLD)).job_id
    assert job_id is not None
    real, real_turn, calls = getattr(STEPS[step], step), Limiter.begin, itertools.count(1)
    reached, waits, interrupting = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def interrupted(*args: Any, **options: Any) -> Any:
        if next(calls) == 2:
            reached.set()
            await interrupting.wait()
        return await real(*args, **options)

    async def turn(turns: Limiter, user: Hashable) -> Turn:
        if asyncio.current_task() is writing:
            waits.set()
        return await real_turn(turns, user)

    monkeypatch.setattr(STEPS[step], step, interrupted)
    working = asyncio.create_task(_work(tenant))
    await reached.wait()
    interruptions: dict[str, tuple[Callable[[], Coroutine[Any, Any, Any]], str]] = {
        "cancel": (lambda: job_operations.cancel(job_id, tenant.user_id, db=tenant.db), "The stair before."),
        "small": (lambda: tenant.add("The stair after.", "stair"), "The stair after."),
        "delete": (lambda: documents.delete(stored.document_id, tenant.user_id, db=tenant.db), ""),
        "large": (lambda: _queue(tenant, NEW), NEW),
    }
    interrupt, expected = interruptions[by]
    monkeypatch.setattr(Limiter, "begin", turn)
    writing = asyncio.create_task(interrupt())
    async with asyncio.timeout(PATIENCE_S):
        # Publishing lets other writes run; in the other steps the write waits for the step's transaction.
        while not writing.done() and not (await _is_locked(tenant) if step == "copy" else waits.is_set()):  # noqa: ASYNC110
            await asyncio.sleep(0)
    interrupting.set()
    await asyncio.gather(working, writing)
    await _work(tenant)
    assert (await job_operations.get(job_id, tenant.user_id, db=tenant.db)).status == "cancelled"
    if by == "delete":
        assert await tenant.uris() == []
    else:
        await _assert_as_stored_whole(tenant, stored, expected)
    await _assert_sound(tenant)


async def _is_locked(tenant: Tenant) -> bool:
    """Whether another transaction has the user's lock."""
    async with tenant.db.preparing(tenant.user_id) as preparing:
        return not await staged_documents.try_lock(preparing)


@pytest.mark.parametrize("by", ["id", "uri", "filter", "everything"])
async def test_a_deleted_document_that_is_still_queued_does_not_appear_later(tenant: Tenant, by: str) -> None:
    await tenant.add("The tower.", "tower", metadata={"team": "blue"})
    replaced = await tenant.add("The stair before.", "before", metadata={"team": "blue"})
    queued = await _queue(tenant, OLD, metadata={"team": "red", "due": "2026-01-02"})
    renewed = await _queue(tenant, NEW, "before", metadata={"team": "red", "due": "2026-01-03"})
    assert queued.job_id is not None
    assert renewed.document_id == replaced.document_id
    user_id = tenant.user_id
    metadata = {"team": "red", "due": {"lt": "2026-01-03"}}
    past = datetime(2020, 1, 1, tzinfo=UTC)  # a document without a time of creation has that of its job
    due = Filters(metadata=metadata, document_ids=(queued.document_id,), uri_prefix="stai", created_after=past)
    if by == "id":
        assert await documents.delete(queued.document_id, user_id, db=tenant.db) == RowCounts()
    elif by == "uri":
        assert await documents.delete_by_uri("stair", user_id, db=tenant.db) == RowCounts()
    else:
        selected = due if by == "filter" else Filters()
        await selections.delete(selected, user_id, db=tenant.db, actor="test")
    assert (await job_operations.get(queued.job_id, user_id, db=tenant.db)).status == "cancelled"
    await _work(tenant)
    assert set(await tenant.uris()) == (set() if by == "everything" else {"tower", "before"})
    await _assert_sound(tenant)
    for again in (
        documents.delete(queued.document_id, user_id, db=tenant.db),
        documents.delete_by_uri("stair", user_id, db=tenant.db),
    ):
        with pytest.raises(errors.NotFound):
            await again


async def test_the_same_upload_is_queued_once(tenant: Tenant) -> None:
    first, second = await _queue(tenant, NEW), await _queue(tenant, NEW)
    assert first == second
    third = await _queue(tenant, NEW, metadata={"k": 1})
    assert third.job_id != first.job_id
    assert (third.document_id, third.status) == (first.document_id, "queued")
    await _work(tenant)
    await _assert_as_stored_whole(tenant, third, NEW, metadata={"k": 1})


async def test_a_document_that_takes_uri_and_text_of_one_that_is_queued_is_not_taken_for_it(tenant: Tenant) -> None:
    other = await tenant.add("Another stair.", "other")
    queued = await _queue(tenant, NEW)
    with pytest.raises(errors.Conflict, match="being stored"):
        await _change(tenant, other, content=NEW, uri="stair")
    replaced = await ingest.replace(other.document_id, Upload(NEW, uri="stair"), tenant.user_id, tenant.services())
    assert (replaced.document_id, replaced.status) == (other.document_id, "queued")
    assert queued.job_id is not None
    assert (await job_operations.get(queued.job_id, tenant.user_id, db=tenant.db)).status == "cancelled"
    await _work(tenant)
    assert await tenant.uris() == ["stair"]
    await _assert_as_stored_whole(tenant, replaced, NEW)
    await _assert_sound(tenant)


async def _change(tenant: Tenant, stored: IngestResult, **patch: Any) -> IngestResult:
    services = tenant.services()
    return await document_patches.apply(stored.document_id, patch, tenant.user_id, services)


async def test_a_change_of_a_document_that_is_being_replaced_is_a_conflict(tenant: Tenant) -> None:
    stored = await tenant.add("The stair before.", "stair")
    await _queue(tenant, NEW)
    for patch in ({"title": "x"}, {"content": OLD}):
        with pytest.raises(errors.Conflict, match="being stored"):
            await _change(tenant, stored, **patch)
    await _work(tenant)
    await _assert_as_stored_whole(tenant, stored, NEW)


async def test_a_change_of_a_new_document_that_is_queued_is_a_conflict_for_those_who_will_see_it(tenant) -> None:
    queued = await _queue(tenant, NEW, metadata={"team": "tide"})
    unseen = tenant.db.restricted(filters.restriction(Filters(metadata={"team": "reef"})))
    for db, error in ((tenant.db, errors.Conflict), (unseen, errors.NotFound)):
        services = dataclasses.replace(tenant.services(), db=db)
        with pytest.raises(error):
            await document_patches.apply(queued.document_id, {"title": "x"}, tenant.user_id, services)
        with pytest.raises(error):
            await ingest.replace(queued.document_id, Upload("Other."), tenant.user_id, services)
    await _work(tenant)
    await _assert_as_stored_whole(tenant, queued, NEW, metadata={"team": "tide"})


async def test_a_large_change_of_a_version_that_is_no_longer_stored_is_not_queued(tenant: Tenant) -> None:
    stored = await tenant.add("The stair before.", "stair")
    async with tenant.db.reading(tenant.user_id) as reading:
        source = await store_documents.source(reading, stored.document_id)
    await _change(tenant, stored, metadata={"n": 1})
    draft = document_drafts.hash_document(document_drafts.clean(Upload(NEW, uri="stair")))
    assert await large_documents.queue_change(draft, tenant.user_id, tenant.services(), source=source) is None
    await _work(tenant)
    await _assert_as_stored_whole(tenant, stored, "The stair before.", metadata={"n": 1})


async def test_a_document_that_is_cut_again_while_a_job_links_it_is_linked_as_a_whole(tenant, owner) -> None:
    stored = await _queue(tenant, NEW)
    services = tenant.services()
    assert await workers.run_next(services, [large_documents.KIND], user_id=tenant.user_id)
    await _work_until_killed(tenant, owner, "relink_chunks", call=2)
    async with tenant.db.reading(tenant.user_id) as reading:
        source = await store_documents.source(reading, stored.document_id)
    again = document_drafts.hash_document(document_patches.clean_document(source))
    await large_documents.queue_change(again, tenant.user_id, services, source=source)
    assert await workers.run_next(services, [large_documents.KIND], user_id=tenant.user_id)
    await _work(tenant)
    await _assert_as_stored_whole(tenant, stored, NEW)
    await _assert_sound(tenant)


async def test_a_document_left_to_a_job_that_follows_names_already_is_linked_afterwards(tenant, monkeypatch) -> None:
    stored = await _queue(tenant, NEW)
    await _work(tenant)
    await tenant.add("A landing.", "landing", metadata={"author": "Ilse Brandt"})
    real = mention_refresh._follow

    async def after_a_change(*args: Any) -> int:
        monkeypatch.setattr(mention_refresh, "_follow", real)
        await _change(tenant, stored, metadata={"author": "Mara Veit"})
        return await real(*args)

    monkeypatch.setattr(mention_refresh, "_follow", after_a_change)
    await _work(tenant)
    await _assert_sound(tenant)


async def test_names_stay_of_metadata_if_another_document_with_them_goes_while_a_job_links(tenant, monkeypatch) -> None:
    other = await tenant.add("A note.", "other", title="Stair rail", metadata={"author": "Ana Silva"})
    await tenant.add("Ana Silva laid it.", "text")
    await _queue(tenant, NEW, title="Stair rail", metadata={"author": "Ana Silva"})
    real = mention_refresh._Linking.store_names

    async def then_without_the_other(linking: Any) -> None:
        await real(linking)
        await documents.delete(other.document_id, tenant.user_id, db=tenant.db)

    monkeypatch.setattr(mention_refresh._Linking, "store_names", then_without_the_other)
    await _work(tenant)
    found = await entities.page(tenant.user_id, db=tenant.db, limit=10)
    assert ("person", "Ana Silva", "metadata") in {(one.type, one.name, one.origin) for one in found}
    await _assert_sound(tenant)


async def test_a_failing_embedder_fails_the_job_and_leaves_nothing(database, owner, monkeypatch) -> None:
    monkeypatch.setattr(workers, "RETRY_S", 0.0)
    tenant = Tenant(database, embedder=harness.FaultyEmbedder(lambda vectors: vectors[:-1]))
    queued = await _queue(tenant, NEW)
    assert queued.job_id is not None
    for _ in range(workers.jobs.MAX_FAILURES):
        with pytest.raises(errors.ProviderError):
            await _work(tenant)
    await _work(tenant)
    state = await job_operations.get(queued.job_id, tenant.user_id, db=database)
    assert (state.status, state.error) == ("failed", "bad_embedding")
    assert await tenant.uris() == []
    left = "SELECT count(*) FROM stepwell.staged_chunks WHERE user_id = $1"
    assert await owner.fetchval(left, tenant.user_id) == 0
    await _assert_sound(tenant)


async def test_a_job_that_fails_while_a_removal_runs_that_does_not_see_it_leaves_nothing(
    tenant: Tenant, elsewhere: Database, owner: Any
) -> None:
    await _queue(tenant, NEW)
    await _work_until_killed(tenant, owner, "stage", call=2)
    async with tenant.db.locking(tenant.user_id) as writing:
        await jobs.enqueue(writing, large_documents.REMOVAL.name)
    async with tenant.db.shared() as shared:
        job = await jobs.claim(shared, kinds=[large_documents.KIND.name], lease_s=20.0, user_id=tenant.user_id)
    assert job is not None
    async with elsewhere.shared() as failing:
        await jobs.fail(failing, job, error="provider_failed")
        assert await workers.run_next(tenant.services(), [large_documents.REMOVAL], user_id=tenant.user_id)
    await _work(tenant)
    await _assert_sound(tenant)
    assert await owner.fetchval("SELECT count(*) FROM stepwell.staged_chunks WHERE user_id = $1", tenant.user_id) == 0


async def test_a_job_waits_for_the_end_of_an_outage_however_long(database, monkeypatch) -> None:
    monkeypatch.setattr(workers, "RETRY_S", 0.0)
    faults = [NotCalled("…"), ProviderDown("…", fault="key"), errors.DiskFull("…")]
    outage = [faults[number % 3] for number in range(workers.jobs.MAX_FAILURES + 2)]

    def fail(vectors: list[Vector]) -> list[Vector]:
        if outage:
            raise outage[0]
        return vectors

    tenant = Tenant(database, embedder=harness.FaultyEmbedder(fail))
    queued = await _queue(tenant, NEW)
    assert queued.job_id is not None
    while outage:
        with pytest.raises(type(outage[0])):
            await _work(tenant)
        state = await job_operations.get(queued.job_id, tenant.user_id, db=database)
        assert (state.status, state.error) == ("queued", outage.pop(0).code)
    await _work(tenant)
    assert await tenant.uris() == ["stair"]


async def test_a_new_version_keeps_the_members_that_only_this_document_names(tenant: Tenant) -> None:
    metadata = {"people": ["Ana Silva"]}
    await tenant.add(OLD, "stair", metadata=metadata)
    await _work(tenant)
    draft = EntityDraft(type="team", name="Masons", members=("Ana Silva",))
    (team,) = await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await _queue(tenant, NEW, metadata=metadata)
    await _work(tenant)
    assert (await entities.get(team.entity_id, tenant.user_id, db=tenant.db)).members == team.members
    await _assert_sound(tenant)
