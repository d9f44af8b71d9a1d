"""Serves the endpoints that list, follow and cancel background jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import PlainValidator
from starlette.types import Receive, Scope, Send

from app import errors, limits
from app.http.authentication import auth
from app.http.bodies import bodies
from app.http.problems import problems
from app.jobs import followed_jobs
from app.jobs.models import EXAMPLE_JOB, JobPage, StoredJob
from app.jobs.types import JobState
from app.kinds import JobStatus
from app.requests import cursors

router = APIRouter(prefix="/api/rag", tags=["jobs"], route_class=bodies.StrictRoute, responses=problems.AUTHENTICATED)
_EVENT_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `progress` with the job after each change, the last one with its end.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def _key(text: str) -> followed_jobs.JobKey:
    try:
        return "newest" if text == "newest" else UUID(text)
    except ValueError:
        raise ValueError("Must be newest, or a UUID such as 3fa85f64-5717-4562-b3fc-2c963f66afa6.") from None


JobKey = Annotated[
    followed_jobs.JobKey,
    PlainValidator(_key, json_schema_input_type=str),
    Path(
        description="Id of the job, from the response that queued it or a listing; or `newest`, the newest of your "
        "jobs without those that update links or postings.",
        openapi_examples={
            "newest": {
                "summary": "Your newest job, such as that of the example of `POST /api/rag/sources`",
                "value": "newest",
            },
            "unknown": {"summary": "Id that does not exist", "value": EXAMPLE_JOB},
        },
    ),
]


@router.get("/jobs", operation_id="list_jobs", summary="List jobs")
async def page(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Jobs per page.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=cursors.MAX_LENGTH, description="`next_cursor` of the previous page.")
    ] = None,
    status: Annotated[JobStatus | None, Query(description="Only jobs in this state.")] = None,
) -> JobPage:
    """The user's background jobs, newest first."""
    after = cursors.read(cursor) if cursor else None
    rows = await followed_jobs.page(user_id, db=use.db, limit=limit + 1, after=after, status=status)
    shown = rows[:limit]
    more = cursors.make(shown[-1].created_at, shown[-1].job_id) if len(rows) > limit else None
    return JobPage(jobs=[StoredJob.of(job) for job in shown], next_cursor=more)


@router.get("/jobs/{job_id}", operation_id="get_job", summary="Get a job", responses=problems.responses(404))
async def get(job_id: JobKey, user_id: auth.Searcher, use: auth.ReadUse) -> StoredJob:
    """A job with its progress and result."""
    found = await followed_jobs.find(job_id, user_id, db=use.db)
    return StoredJob.of(await followed_jobs.get(found, user_id, db=use.db))


@router.get(
    "/jobs/{job_id}/events",
    operation_id="follow_job",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={**problems.responses(404), **_EVENT_RESPONSE},
)
async def events(job_id: JobKey, request: Request, user_id: auth.Searcher, use: auth.ReadUse) -> StreamingResponse:
    """The job as server-sent events: now, after each change, and at its end, where the stream ends too."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(request.app.state.job_streams.turn(user_id))
        except errors.Overloaded:
            raise errors.Overloaded("Too many jobs are followed at once: read the job instead.") from None
        found = await followed_jobs.find(job_id, user_id, db=use.db)
        await followed_jobs.get(found, user_id, db=use.db)
        return EventStream(followed_jobs.follow(found, user_id, db=use.db), stack.pop_all())


@router.post(
    "/jobs/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    responses=problems.responses(404, 409, 507),
)
async def cancel(job_id: JobKey, user_id: auth.Writer, use: auth.Use) -> StoredJob:
    """Cancel a job that waits or runs. What it was to store is not stored; the previous version stays.

    A job that has ended stays as it is, and its `status` says how it has ended.
    """
    found = await followed_jobs.find(job_id, user_id, db=use.db)
    return StoredJob.of(await followed_jobs.cancel(found, user_id, db=use.db))


class EventStream(StreamingResponse):
    """The states of a job as events. What is on the stack is held until the stream ends."""

    def __init__(self, states: AsyncIterator[JobState | None], held: AsyncExitStack) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_events(states), media_type="text/event-stream", headers=headers)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)


async def _events(states: AsyncIterator[JobState | None]) -> AsyncIterator[str]:
    async for state in states:
        if state is None:
            yield ": keep-alive\n\n"
        else:
            yield f"event: progress\ndata: {StoredJob.of(state).model_dump_json()}\n\n"
