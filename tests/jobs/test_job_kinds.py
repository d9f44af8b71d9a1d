"""Every kind of job has one name, is documented, and is cancelled and deleted as it is declared."""

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from harness import Tenant

from app import errors
from app.jobs import operations as job_operations
from app.jobs import workers
from app.jobs.workers import JobKind, Run

PAGE = Path(__file__).parents[2] / "docs" / "documents.md"


async def _finish(run: Run) -> int:
    async with run.db.writing(run.user_id) as writing:
        await run.finish(writing)
    return 1


async def _fail(_run: Run) -> int:
    raise errors.BadRequest("The document contains no text.", field="content")


def test_the_page_about_jobs_has_one_row_for_each_kind() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| `kind` |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(
        kind.name for kind in workers.every_kind()
    ), PAGE


@pytest.mark.parametrize("kind", workers.every_kind(), ids=lambda kind: kind.name)
async def test_a_user_may_cancel_the_jobs_of_cancellable_kinds_only(tenant: Tenant, kind: JobKind) -> None:
    async with tenant.db.writing(tenant.user_id) as writing:
        job_id = await kind.add(writing, {})
    if kind.is_cancellable:
        assert (await job_operations.cancel(job_id, tenant.user_id, db=tenant.db)).status == "cancelled"
    else:
        with pytest.raises(errors.Conflict):
            await job_operations.cancel(job_id, tenant.user_id, db=tenant.db)
    following = [state.kind for state in await job_operations.page(tenant.user_id, db=tenant.db, limit=9)]
    assert following == [name for name in (kind.on_failure, kind.name) if name]


async def test_the_latest_finished_jobs_with_the_same_payload_are_kept(tenant: Tenant) -> None:
    kind = JobKind("test", _finish, queue="test", kept=2)
    for folder in "aabaab":
        async with tenant.db.writing(tenant.user_id) as writing:
            await kind.add(writing, {"folder": folder})
        await workers.run_next(tenant.services(), [kind], user_id=tenant.user_id)
    left = await job_operations.page(tenant.user_id, db=tenant.db, limit=9)
    assert [state.payload["folder"] for state in left] == ["b", "a", "a", "b"]


@pytest.mark.parametrize("handler", [_finish, _fail])
async def test_jobs_that_ended_long_ago_are_deleted_when_another_one_ends(tenant: Tenant, owner, handler) -> None:
    kind = JobKind("test", handler, queue="test")
    for days in (31, 29, 0):
        async with tenant.db.writing(tenant.user_id) as writing:
            job_id = await kind.add(writing, {"days": days})
        with contextlib.suppress(errors.BadRequest):
            await workers.run_next(tenant.services(), [kind], user_id=tenant.user_id)
        ended = "UPDATE stepwell.jobs SET created_at = $2, finished_at = $2 WHERE job_id = $1"
        await owner.execute(ended, job_id, datetime.now(UTC) - timedelta(days=days))
    left = await job_operations.page(tenant.user_id, db=tenant.db, limit=9)
    assert [state.payload["days"] for state in left] == [0, 29]


async def test_a_job_that_fails_is_followed_by_the_kind_that_is_declared(tenant: Tenant) -> None:
    kind = JobKind("test", _fail, queue="test", on_failure="remove_postings")
    async with tenant.db.writing(tenant.user_id) as writing:
        await kind.add(writing, {})
    with pytest.raises(errors.BadRequest):
        await workers.run_next(tenant.services(), [kind], user_id=tenant.user_id)
    states = await job_operations.page(tenant.user_id, db=tenant.db, limit=9)
    assert [(state.kind, state.status) for state in states] == [("remove_postings", "queued"), ("test", "failed")]
