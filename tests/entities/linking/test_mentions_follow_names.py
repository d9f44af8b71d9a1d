"""Stored texts are linked to changed names as if they were stored after the change."""

import asyncio
import os
import random
from dataclasses import replace
from typing import Any

import linking
import pytest
from harness import WAITING, Tenant

from app import errors
from app.database import transactions
from app.documents import operations as documents
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.linking import mention_extraction, mention_refresh
from app.entities.store import mentions, name_changes
from app.jobs import store as jobs
from app.jobs import workers
from app.text.names import metadata_names
from app.text.names.metadata_names import Tag

NOTES = {
    "a": ("Harbour notes", "The Harbour Light was run by Ilse Brandt. New York is far from York.", {"people": ["Ana"]}),
    "b": (
        "Ilse Brandt",
        "She painted the harbour light at dusk; asilva bought it, not Ana's friend.\n\n## Harbour Light\n\nIn oil.",
        {},
    ),
    "c": ("", "In der Nähe von Müller und IT. It is ana silva, und York.", {"author": "ilse brandt", "tags": ["York"]}),
    "d": (
        "York (city)",
        "## Far from York\n\nA town of ANA SILVA. Josh.ai and josh ai and joshai.",
        {"project": "Harbour Light"},
    ),
}
PEOPLE = {"Ana Silva": ("Ana", "asilva"), "Ilse Brandt": (), "Josh AI": (), "Muller": ("IT",), "New York": ()}


class Killed(BaseException):
    """What no worker can answer."""


async def _store(tenant: Tenant, *uris: str) -> None:
    for uri in uris:
        title, text, metadata = NOTES[uri]
        language = "de" if uri == "c" else None
        await tenant.add(text, uri, title=title, metadata=metadata, language=language)


async def _fresh(database: Any, owner: Any, people: dict[str, tuple[str, ...]]) -> set[tuple[Any, ...]]:
    """What the notes mention where everybody was known before the first of them came, and metadata's names too."""
    tenant = Tenant(database)
    for name, aliases in people.items():
        await linking.add_entity(tenant, name, *aliases)
    await _store(tenant, *"abcd")
    await _link_all(tenant)
    return await linking.of_tenant(owner, tenant)


async def _link_all(tenant: Tenant) -> None:
    """Link every document again, now that all names are known."""
    for document in await documents.page(tenant.user_id, db=tenant.db, limit=9, after=None):
        async with tenant.db.locking(tenant.user_id) as writing:
            await mention_extraction.relink(writing, document.document_id, keys=metadata_names.KEYS)


async def _pending(owner: Any, tenant: Tenant) -> int:
    pending = "SELECT count(*) FROM stepwell.entity_changes WHERE user_id = $1 AND pending_since IS NOT NULL"
    return int(await owner.fetchval(pending, tenant.user_id))


async def test_mentions_follow_a_rename_an_alias_and_a_deletion(tenant: Tenant, database: Any, owner: Any) -> None:
    await _store(tenant, *"abcd")
    ids = {name: (await linking.add_entity(tenant, name, *aliases)).entity_id for name, aliases in PEOPLE.items()}
    await linking.refresh(tenant)
    context = {"db": tenant.db, "embedder": tenant.embedder}
    await entities.change(ids["Ana Silva"], {"aliases": ("York",)}, tenant.user_id, **context)
    await entities.change(ids["Josh AI"], {"name": "Lisbon"}, tenant.user_id, **context)
    await entities.remove(ids["Ilse Brandt"], tenant.user_id, db=tenant.db)
    await entities.remove(ids["New York"], tenant.user_id, db=tenant.db)
    await linking.refresh(tenant)
    left = {"Ana Silva": ("York",), "Lisbon": (), "Muller": ("IT",)}
    assert await linking.of_tenant(owner, tenant) == await _fresh(database, owner, left)


@pytest.mark.parametrize("seed", range(2))
async def test_the_order_of_changes_and_texts_does_not_matter(database, owner, monkeypatch, seed) -> None:
    monkeypatch.setattr(mention_refresh, "NAMES", 2)
    monkeypatch.setattr(mention_refresh, "SLICE", 2)
    tenant, dice = Tenant(database), random.Random(seed)
    steps: list[Any] = [*"abcd", *PEOPLE.items(), None, None]
    dice.shuffle(steps)
    for step in steps:
        if step is None:
            await linking.refresh(tenant)
        elif isinstance(step, str):
            await _store(tenant, step)
        else:
            await linking.add_entity(tenant, step[0], *step[1])
    await linking.refresh(tenant)
    assert await linking.of_tenant(owner, tenant) == await _fresh(database, owner, PEOPLE)


async def test_a_job_whose_worker_died_is_resumed_after_its_lease(tenant, database, owner, monkeypatch) -> None:
    monkeypatch.setattr(mention_refresh, "SLICE", 1)
    for n in range(6):
        await tenant.add(f"Ana {n}.", f"{n}")
    await linking.add_entity(tenant, "Ana")
    slices = 0
    whole = mention_extraction.relink_chunks

    async def dying(*given: Any, **keys: Any) -> None:
        nonlocal slices
        slices += 1
        if slices == 4:
            raise Killed
        await whole(*given, **keys)

    monkeypatch.setattr(mention_extraction, "relink_chunks", dying)
    with pytest.raises(Killed):
        await linking.refresh(tenant)
    assert len(await linking.of_name(owner, tenant, "Ana")) == 3
    assert await linking.refresh(tenant) == 0, "the lease still runs"
    await owner.execute("UPDATE stepwell.jobs SET leased_until = now() WHERE user_id = $1", tenant.user_id)
    assert await linking.refresh(tenant) == 3
    assert len(await linking.of_name(owner, tenant, "Ana")) == 6


async def test_a_cancelled_worker_releases_its_job(tenant: Tenant, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await tenant.add("Ana.", "a")
    await linking.add_entity(tenant, "Ana")
    reached = asyncio.Event()

    async def hanging(*_given: Any, **_keys: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as slow:
        slow.setattr(mention_extraction, "relink_chunks", hanging)
        worker = asyncio.create_task(linking.refresh(tenant))
        await reached.wait()
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    assert await linking.refresh(tenant) == 1
    assert len(await linking.of_name(owner, tenant, "Ana")) == 1


async def test_a_failing_job_is_retried_until_it_succeeds(tenant, owner, monkeypatch) -> None:
    monkeypatch.setattr(workers, "RETRY_S", 0.0)
    await tenant.add("Ana.", "a")
    await linking.add_entity(tenant, "Ana")

    async def failing(*_given: Any, **_keys: Any) -> None:
        raise errors.DatabaseUnavailable("down")

    with monkeypatch.context() as broken:
        broken.setattr(mention_extraction, "relink_chunks", failing)
        for _ in range(jobs.MAX_FAILURES + 1):
            with pytest.raises(errors.DatabaseUnavailable):
                await linking.refresh(tenant)
    row = await owner.fetchrow("SELECT status, error FROM stepwell.jobs WHERE user_id = $1", tenant.user_id)
    assert tuple(row) == ("queued", "database_unavailable")
    await owner.execute("UPDATE stepwell.jobs SET attempts = 2000 WHERE user_id = $1", tenant.user_id)
    await linking.refresh(tenant)
    assert len(await linking.of_name(owner, tenant, "Ana")) == 1


async def test_what_is_pending_without_a_job_gets_one_when_a_service_starts(tenant, owner, address) -> None:
    await tenant.add("Ana.", "a")
    await linking.add_entity(tenant, "Ana")
    await owner.execute("DELETE FROM stepwell.jobs WHERE user_id = $1", tenant.user_id)
    async with transactions.connect(address.owner_dsn, pool_size=1) as as_owner:
        assert await mention_refresh.enqueue_all(as_owner) == [tenant.user_id]
        assert await mention_refresh.enqueue_all(as_owner) == []
    assert await mention_refresh.settle(tenant.user_id, tenant.services()) == 1
    assert len(await linking.of_name(owner, tenant, "Ana")) == 1


async def test_a_change_that_commits_after_the_job_was_claimed_is_followed(tenant, owner, elsewhere) -> None:
    await tenant.add("Ben met ana silva.", "a")
    await linking.add_entity(tenant, "Ben")
    worker = replace(tenant.services(), db=elsewhere)
    async with tenant.db.locking(tenant.user_id) as writing:
        ana = Tag("ana silva", "Ana Silva", "person", "attendee")
        await mentions.ensure(writing, [ana], origin="metadata")
        await name_changes.record(writing, {"ana silva": "Ana Silva"})
        assert await jobs.count(writing, name_changes.JOB) == 1, "the job that waits is to follow both"
        running = asyncio.create_task(mention_refresh.drain(tenant.user_id, worker))
        while not await owner.fetchval(WAITING):  # noqa: ASYNC110 - it has read the changes, and waits for the lock
            await asyncio.sleep(0.01)
    await running
    assert {m[2] for m in await linking.of_name(owner, tenant, "Ana Silva", "metadata")} == {"text"}
    assert await _pending(owner, tenant) == 0


async def test_only_chunks_that_contain_a_changed_name_are_linked_again(tenant, owner, monkeypatch) -> None:
    monkeypatch.setattr(mention_refresh, "NAMES", 20)
    await tenant.add_all({f"{n}": f"Tide table number {n} of the north harbour." for n in range(40)})
    await tenant.add("The far north of the harbour is Person 7's.", "a")
    await linking.add_entity(tenant, "North Harbour", *(f"North {n} Harbour" for n in range(20)))
    people = [linking.person(f"Person {n}") for n in range(100)]
    await entities.add(people[:50], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    assert await linking.refresh(tenant) == 41
    await entities.add(people[50:], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    assert await linking.refresh(tenant) == 0, "person is in a text, but followed by another number"


async def test_a_new_title_is_looked_for_in_older_chunks_only(tenant: Tenant, owner: Any) -> None:
    await tenant.add("By the Old Tide Mill.", "a")
    await tenant.add("The tide mill stands. " * 40, "b", title="Tide Mill")
    assert await linking.refresh(tenant) == 1
    assert {m[0] for m in await linking.of_name(owner, tenant, "Tide Mill", "title")} == {"a", "b"}


@pytest.mark.parametrize("seed", range(200 if os.environ.get("STEPWELL_FAULTS") == "full" else 2))
async def test_what_is_written_while_jobs_run_is_linked_as_in_a_new_database(database, owner, elsewhere, seed) -> None:
    dice, tenant, alone = random.Random(seed), Tenant(database), Tenant(database)
    uploads = [_upload(dice, n) for n in range(dice.randint(3, 9))]
    worker = replace(tenant.services(), db=elsewhere)
    written = asyncio.Event()

    async def work() -> None:
        while not written.is_set():
            await mention_refresh.drain(tenant.user_id, worker)
            await asyncio.sleep(dice.random() / 50)

    working = asyncio.create_task(work())
    for upload in uploads:
        await tenant.many([upload])
        await asyncio.sleep(dice.random() / 50)
    written.set()
    await working
    await mention_refresh.settle(tenant.user_id, worker)
    assert await _pending(owner, tenant) == 0
    await alone.many(uploads)
    await mention_refresh.settle(alone.user_id, alone.services())
    await _link_all(alone)
    assert await linking.of_tenant(owner, tenant) == await linking.of_tenant(owner, alone)


def _upload(dice: random.Random, n: int) -> Upload:
    names = [f"Person {letter} Test{number}" for letter in "abc" for number in range(4)]
    text = f"We met {dice.choice(names).lower()} and {dice.choice(names)} about the tide gauge, number {n}."
    metadata = {"author": dice.choice(names), "tags": [f"t{dice.randrange(5)}"]}
    return Upload(text, uri=f"{n}", title=dice.choice(["", *names]), metadata=metadata, language="english")
