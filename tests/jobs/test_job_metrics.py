"""The metrics of the queue, and of what its jobs came to."""

import harness
import pytest
import sqlalchemy as sa

from app import errors
from app.database import transactions
from app.jobs import store, workers
from app.jobs.workers import JobKind, Run
from app.settings import Settings

OWN_DATABASE = True


async def _finish(run: Run) -> int:
    if run.job.payload["fails"]:
        raise errors.ProviderError("down")
    async with run.db.shared() as shared:
        await run.finish(shared)
    return 3


KIND = JobKind("counted", _finish, queue="counted")


async def _queue(database, user: str, **payload) -> None:
    async with database.writing(user) as writing:
        await KIND.add(writing, payload)


async def _samples(client) -> dict[str, float]:
    lines = (await client.get("/metrics")).text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if "counted" in line)}


async def test_the_queue_and_the_outcomes_of_jobs_are_shown_by_kind(database):
    services = await harness.services(database)
    async with (
        harness.running(Settings(worker=False), services) as app,
        harness.client(app) as client,
        harness.as_owner(database) as owner,
    ):
        await _queue(database, "ana", fails=True)
        await _queue(database, "ben", fails=False)
        async with owner.shared() as shared:
            await shared.execute(sa.text("UPDATE stepwell.jobs SET run_at = run_at - interval '1 hour'"))
        queued = await _samples(client)
        with pytest.raises(errors.ProviderError):
            await workers.run_next(services, [KIND], user_id="ana")
        await workers.run_next(services, [KIND], user_id="ben")
        await _queue(database, "cai", fails=False)
        async with database.claiming() as shared:
            await store.claim(shared, kinds=["counted"], lease_s=60.0, user_id="cai")
        ran = await _samples(client)
    assert queued['stepwell_jobs_waiting{kind="counted"}'] == 2
    assert queued['stepwell_jobs_oldest_seconds{kind="counted"}'] >= 3_600
    assert (ran['stepwell_jobs_waiting{kind="counted"}'], ran['stepwell_jobs_running{kind="counted"}']) == (1, 1)
    assert ran['stepwell_jobs_retrying{kind="counted"}'] == 1
    assert ran['stepwell_job_failures_total{code="provider_failed",kind="counted"}'] == 1
    assert (ran['stepwell_jobs_total{kind="counted"}'], ran['stepwell_job_chunks_total{kind="counted"}']) == (1, 3)


async def test_metrics_are_shown_without_the_queue_while_the_database_cannot_be_reached(database):
    services = await harness.services(database)
    down = transactions.connect("postgresql://stepwell_service:x@127.0.0.1:9/db")
    async with harness.running(Settings(worker=False), services) as app, harness.client(app) as client:
        app.state.services = type(services)(db=down, embedder=services.embedder)
        text = (await client.get("/metrics")).text
    await down.close()
    assert "stepwell_jobs_waiting{" not in text
    assert "stepwell_db_connections_in_use 0.0" in text
