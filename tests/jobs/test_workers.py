"""Jobs run one at a time, survive their workers, and stop when they are cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import harness
import pytest
import sqlalchemy as sa
from harness import Tenant

from app import capability, errors
from app.database.transactions import Database, SharedTransaction
from app.jobs import operations as job_operations
from app.jobs import store, workers
from app.jobs.store import Job, JobState
from app.jobs.workers import JobKind, Run
from app.services import Services

KIND = "test"


async def _queue(tenant: Tenant, **payload: Any) -> UUID:
    async with tenant.db.writing(tenant.user_id) as writing:
        return await store.add(writing, KIND, payload)


async def _run(tenant: Tenant, handler: Callable[[Run], Awaitable[int]]) -> tuple[str, int] | None:
    return await workers.run_next(tenant.services(), [JobKind(KIND, handler, queue=KIND)], user_id=tenant.user_id)


async def _state(tenant: Tenant, job_id: UUID) -> JobState:
    return await job_operations.get(job_id, tenant.user_id, db=tenant.db)


async def _finish(run: Run) -> int:
    async with run.db.writing(run.user_id) as writing:
        await run.finish(writing, n=run.job.payload.get("n"))
    return 1


async def test_jobs_run_in_the_order_in_which_they_were_queued(tenant: Tenant) -> None:
    ids = [await _queue(tenant, n=n) for n in range(3)]
    for _ in ids:
        assert await _run(tenant, _finish) == (KIND, 1)
    assert await _run(tenant, _finish) is None
    states = [await _state(tenant, job_id) for job_id in ids]
    assert [(state.status, state.result) for state in states] == [("done", {"n": n}) for n in range(3)]
    listed = await job_operations.page(tenant.user_id, db=tenant.db, limit=9)
    assert [state.job_id for state in listed] == ids[::-1]


async def test_jobs_that_ended_long_ago_are_deleted_for_all_users(tenant: Tenant, owner: Any) -> None:
    old, running, recent = [await _queue(tenant, n=n) for n in range(3)]
    aged = "UPDATE stepwell.jobs SET created_at = now() - interval '31 d', {} WHERE job_id = $1"
    await owner.execute(aged.format("status = 'done', finished_at = now() - interval '31 d'"), old)
    await owner.execute(aged.format("status = 'running'"), running)
    await owner.execute("UPDATE stepwell.jobs SET status = 'done', finished_at = now() WHERE job_id = $1", recent)
    async with tenant.db.shared() as shared:
        assert await store.expire(shared, None) >= 1
    left = await job_operations.page(tenant.user_id, db=tenant.db, limit=9)
    assert {state.job_id for state in left} == {running, recent}


async def test_rows_expire_although_what_deletes_those_of_another_kind_is_broken(tenant: Tenant, monkeypatch) -> None:
    async def broken(shared: SharedTransaction, _services: Services) -> int:
        return int(await shared.scalar(sa.text("SELECT stepwell.of_another_revision()")))

    async def others(_shared: SharedTransaction, _services: Services) -> int:
        expired.set()
        return 1

    expired = asyncio.Event()
    declared = {"expires": (broken, others), "jobs": (), "background": ()}
    monkeypatch.setattr(capability, "declared", declared.__getitem__)
    monkeypatch.setattr(workers, "EXPIRE_EVERY_S", 0.0)
    running = asyncio.create_task(workers.run_forever(tenant.services()))
    for _round in range(2):
        async with asyncio.timeout(9):
            await expired.wait()
        expired.clear()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert running.cancelled()


async def test_users_take_turns_however_many_jobs_one_has_queued(tenant: Tenant, database: Database) -> None:
    users, served, ran = (tenant.user_id, f"{tenant.user_id}-2", f"{tenant.user_id}-3"), [], []
    for user_id in (*[users[0]] * 3, *[users[1]] * 2, users[2]):
        async with database.writing(user_id) as writing:
            await store.add(writing, "turns", {})

    async def noted(run: Run) -> int:
        ran.append(run.user_id)
        return await _finish(run)

    kinds = [JobKind("turns", noted, queue="turns")]
    while await workers.run_next(tenant.services(), kinds, served=served):
        pass
    assert ran == [*users, *users[:2], users[0]]


async def test_a_user_has_one_running_job_of_a_kind(tenant: Tenant, database: Database) -> None:
    await _queue(tenant)
    await _queue(tenant)
    async with database.shared() as shared:
        first = await store.claim(shared, kinds=[KIND], lease_s=9.0, user_id=tenant.user_id)
        assert first is not None
    async with database.shared() as shared:
        assert await store.claim(shared, kinds=[KIND], lease_s=9.0, user_id=tenant.user_id) is None


async def test_two_workers_that_look_at_once_do_not_run_two_jobs_of_a_kind_of_a_user(
    tenant: Tenant, database: Database, elsewhere: Database, owner: Any
) -> None:
    await _queue(tenant)
    await _queue(tenant)

    async def claim_elsewhere() -> Job | None:
        async with elsewhere.shared() as shared:
            return await store.claim(shared, kinds=[KIND], lease_s=9.0, user_id=tenant.user_id)

    async with database.shared() as shared:
        assert await store.claim(shared, kinds=[KIND], lease_s=9.0, user_id=tenant.user_id) is not None
        second = asyncio.create_task(claim_elsewhere())
        async with asyncio.timeout(9):
            while not second.done() and not await owner.fetchval(harness.WAITING):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert await second is None


async def test_a_job_with_an_expired_lease_is_continued_from_its_progress(tenant: Tenant, owner: Any) -> None:
    job_id = await _queue(tenant)
    seen = []

    class Killed(BaseException):
        pass

    async def dying(run: Run) -> int:
        async with run.db.shared() as shared:
            await run.advance(shared, done=3, total=9, unit="chunks")
        raise Killed

    async def resumed(run: Run) -> int:
        seen.append(dict(run.job.progress))
        return await _finish(run)

    with pytest.raises(Killed):
        await _run(tenant, dying)
    assert await _run(tenant, resumed) is None, "the lease still runs"
    await owner.execute("UPDATE stepwell.jobs SET leased_until = now() WHERE user_id = $1", tenant.user_id)
    assert await _run(tenant, resumed) == (KIND, 1)
    first, state = seen[0], await _state(tenant, job_id)
    assert {name: first[name] for name in ("done", "total", "unit")} == {"done": 3, "total": 9, "unit": "chunks"}
    assert (state.attempts, state.progress["done"]) == (2, 3)
    assert state.progress["seconds"] >= first["seconds"]


async def test_a_clock_that_was_set_back_leaves_no_job_waiting_for_it(tenant: Tenant, owner: Any) -> None:
    queued, died = await _queue(tenant, n=1), await _queue(tenant, n=2)
    ahead = "UPDATE stepwell.jobs SET {} = now() + interval '1 hour', status = $2 WHERE job_id = $1"
    await owner.execute(ahead.format("run_at"), queued, "queued")
    await owner.execute(ahead.format("leased_until"), died, "running")
    assert await _run(tenant, _finish) is None
    async with tenant.db.shared() as shared:
        await store.expire(shared, None)
    for _ in range(2):
        assert await _run(tenant, _finish) == (KIND, 1)
    states = [await _state(tenant, job_id) for job_id in (queued, died)]
    assert [(state.status, state.attempts) for state in states] == [("done", 1)] * 2


async def test_a_job_that_runs_keeps_its_claim_after_the_clock_was_set_back(tenant: Tenant, owner: Any) -> None:
    job_id = await _queue(tenant)
    leased = "status = 'running', run_at = now() + interval '1 day', leased_until = now() + interval '20 s'"
    await owner.execute(f"UPDATE stepwell.jobs SET {leased} WHERE job_id = $1", job_id)
    async with tenant.db.shared() as shared:
        await store.expire(shared, None)
    assert await _run(tenant, _finish) is None
    due = "SELECT run_at <= now() AND leased_until > now() FROM stepwell.jobs WHERE job_id = $1"
    assert await owner.fetchval(due, job_id)


async def test_the_longest_pause_is_not_shortened(tenant: Tenant, owner: Any) -> None:
    assert workers.MAX_RETRY_S < store.LONGEST_WAIT_S
    await _queue(tenant)
    await owner.execute(
        "UPDATE stepwell.jobs SET run_at = now() + make_interval(secs => $2) WHERE user_id = $1",
        *(tenant.user_id, store.LONGEST_WAIT_S),
    )
    async with tenant.db.shared() as shared:
        await store.expire(shared, None)
    assert await _run(tenant, _finish) is None


async def test_the_lease_of_a_job_is_renewed_until_its_handler_ends(tenant, monkeypatch) -> None:
    monkeypatch.setattr(workers, "RENEW_S", 0.01)
    await _queue(tenant)
    renewed = asyncio.Event()
    renew = store.renew

    async def noted(*args: Any, **options: Any) -> bool:
        has_claim = await renew(*args, **options)
        renewed.set()
        return has_claim

    monkeypatch.setattr(store, "renew", noted)

    async def slow(run: Run) -> int:
        await renewed.wait()
        done = await _finish(run)
        for _ in range(2):
            renewed.clear()
            await renewed.wait()
        return done

    assert await _run(tenant, slow) == (KIND, 1)


async def test_the_commit_of_a_renewal_waits_neither_for_the_disk_nor_for_a_standby(tenant: Tenant) -> None:
    await _queue(tenant)
    async with tenant.db.shared() as shared:
        job = await store.claim(shared, kinds=[KIND], lease_s=9.0, user_id=tenant.user_id)
    async with tenant.db.shared() as shared:
        await shared.execute(sa.text("SET LOCAL synchronous_commit = on"))
        assert await store.renew(shared, job, lease_s=9.0)
        assert await shared.scalar(sa.text("SELECT current_setting('synchronous_commit')")) == "off"


async def test_a_failure_is_repeated_later_with_a_growing_pause(tenant: Tenant, owner: Any) -> None:
    job_id = await _queue(tenant)

    async def failing(_run: Run) -> int:
        raise errors.ProviderError("down")

    pauses = []
    for _ in range(3):
        with pytest.raises(errors.ProviderError):
            await _run(tenant, failing)
        state = await _state(tenant, job_id)
        assert (state.status, state.error) == ("queued", "provider_failed")
        pause = "SELECT extract(epoch FROM run_at - now()) FROM stepwell.jobs WHERE job_id = $1"
        pauses.append(round(float(await owner.fetchval(pause, job_id))))
        assert await _run(tenant, failing) is None
        await owner.execute("UPDATE stepwell.jobs SET run_at = now() WHERE job_id = $1", job_id)
    assert pauses == [5, 10, 20]
    assert await _run(tenant, _finish) == (KIND, 1)
    assert (await _state(tenant, job_id)).error is None


async def test_a_job_that_is_never_given_up_is_tried_however_often_it_has_failed(tenant: Tenant, owner: Any) -> None:
    job_id = await _queue(tenant)
    most = "UPDATE stepwell.jobs SET attempts = 32767, failures = 32767 WHERE job_id = $1"
    await owner.execute(most, job_id)

    async def failing(_run: Run) -> int:
        raise errors.ProviderError("down")

    with pytest.raises(errors.ProviderError):
        await workers.run_next(
            tenant.services(), [JobKind(KIND, failing, queue=KIND, gives_up=False)], user_id=tenant.user_id
        )
    state = await _state(tenant, job_id)
    assert (state.status, state.error) == ("queued", "provider_failed")


async def test_a_cancelled_job_is_stopped_at_its_next_renewal_and_logged_so(
    tenant: Tenant, monkeypatch, caplog
) -> None:
    caplog.set_level("INFO", workers.log.name)
    monkeypatch.setattr(workers, "RENEW_S", 0.01)
    job_id = await _queue(tenant)
    started, stopped = asyncio.Event(), asyncio.Event()

    async def endless(_run: Run) -> int:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    running = asyncio.create_task(_run(tenant, endless))
    await started.wait()
    assert (await job_operations.cancel(job_id, tenant.user_id, db=tenant.db)).status == "cancelled"
    await running
    assert stopped.is_set()
    again = await job_operations.cancel(job_id, tenant.user_id, db=tenant.db)
    assert again.status == "cancelled", "a job that has ended stays as it is"
    waiting = await _queue(tenant)
    await job_operations.cancel(waiting, tenant.user_id, db=tenant.db)
    assert await _run(tenant, _finish) is None
    await _queue(tenant)
    assert await _run(tenant, _finish) == (KIND, 1)
    assert [record.message for record in caplog.records] == ["job stopped", "job done"]


async def test_progress_of_a_job_that_was_claimed_again_is_refused(tenant: Tenant, owner: Any) -> None:
    await _queue(tenant)

    async def overtaken(run: Run) -> int:
        await owner.execute("UPDATE stepwell.jobs SET attempts = attempts + 1 WHERE user_id = $1", tenant.user_id)
        async with run.db.shared() as shared:
            await run.advance(shared, done=1)
        raise AssertionError

    assert await _run(tenant, overtaken) == (KIND, 0)
