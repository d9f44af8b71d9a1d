"""Serves the endpoints that list, follow and cancel background jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from app import errors, limits
from app.enums import JobStatus
from app.http import auth, bodies, parameters, problems
from app.http.responses import Response
from app.jobs import operations as job_operations
from app.jobs.store import JobState
from app.requests import cursors

router = bodies.router("jobs")
_EVENT_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `progress` with the job after each change, the last one with its end.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}

EXAMPLE_JOB = "5b0f8a52-3c1e-4d0b-9a57-2f6d1c8e7b40"


class JobProgress(Response):
    """How far a job is."""

    done: int | None = Field(None, description="Units that are done; null before the first.")
    total: int | None = Field(None, description="Units in all; null while that is not known.")
    unit: str | None = Field(None, description="What is counted, such as chunks.")
    step: str | None = Field(None, description="What the job does now.")
    documents: int | None = Field(
        None, description="Documents that it has stored or found unchanged; null for other work."
    )
    chunks: int | None = Field(None, description="Chunks of these documents.")
    seconds: float | None = Field(
        None, description="Time that it has worked, in seconds; null before its first progress."
    )


class StoredJob(Response):
    """A background job."""

    job_id: UUID = Field(description="Id of the job.")
    kind: str = Field(description="Kind of work, such as store_document or relink.")
    status: JobStatus = Field(description="State of the job.")
    document_id: UUID | None = Field(description="Document that the job stores; null if it concerns none or several.")
    source_id: UUID | None = Field(description="Source that the job synchronises; null for other jobs.")
    progress: JobProgress = Field(description="How far the job is.")
    result: dict[str, Any] = Field(
        description="What a job that is done has stored; of a source also its files that failed, as `failures`."
    )
    error: str | None = Field(description="Stable code of the last failure; null if there was none.")
    attempts: int = Field(description="How often the job has been started.")
    created_at: datetime = Field(description="Time when it was queued.")
    run_at: datetime = Field(description="Time from which it may run: later after a failure.")
    finished_at: datetime | None = Field(description="Time when it ended; null before.")


class JobPage(BaseModel):
    """A page of jobs, newest first."""

    jobs: list[StoredJob] = Field(description="Jobs of the page.")
    next_cursor: str | None = Field(description="Value of `cursor` for the next page; null on the last page.")


JobKey = Annotated[
    UUID,
    Path(
        description="Id of the job, from the response that queued it or a listing.",
        openapi_examples={"unknown": {"summary": "Id that does not exist", "value": EXAMPLE_JOB}},
    ),
]


@router.get("/jobs", summary="List jobs")
async def list_jobs(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Jobs per page.")] = 50,
    cursor: parameters.Cursor = None,
    status: Annotated[JobStatus | None, Query(description="Only jobs in this state.")] = None,
) -> JobPage:
    """The user's background jobs, newest first."""
    after = cursors.read(cursor, cursors.moment) if cursor else None
    rows = await job_operations.page(user_id, db=use.db, limit=limit + 1, after=after, status=status)
    shown, more = cursors.cut(rows, limit, lambda one: cursors.make(one.created_at, one.job_id))
    return JobPage(jobs=[StoredJob.of(job) for job in shown], next_cursor=more)


@router.get("/jobs/{job_id}", summary="Get a job", responses=problems.responses(404))
async def get_job(job_id: JobKey, user_id: auth.Searcher, use: auth.ReadUse) -> StoredJob:
    """A job with its progress and result."""
    return StoredJob.of(await job_operations.get(job_id, user_id, db=use.db))


@router.get(
    "/jobs/{job_id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={**problems.responses(404), **_EVENT_RESPONSE},
)
async def follow_job(job_id: JobKey, request: Request, user_id: auth.Searcher, use: auth.ReadUse) -> StreamingResponse:
    """The job as server-sent events: now, after each change, and at its end, where the stream ends too."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(request.app.state.job_streams.turn(user_id))
        except errors.Overloaded:
            raise errors.Overloaded("Too many jobs are followed at once: read the job instead.") from None
        job = await job_operations.get(job_id, user_id, db=use.db)
        return EventStream(job_operations.follow(job, user_id, db=use.db), stack.pop_all())


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job", responses=problems.responses(404, 409, 507))
async def cancel_job(job_id: JobKey, request: Request, user_id: auth.Writer, use: auth.Use) -> StoredJob:
    """Cancel a job that waits or runs. What it was to store is not stored; the previous version stays.

    A job that has ended stays as it is, and its `status` says how it has ended. A key without the scope `search` does
    not see its progress and result.
    """
    job = await job_operations.cancel(job_id, user_id, db=use.db)
    return StoredJob.of(job) if auth.may_read(request) else StoredJob.of(job, progress={}, result={})


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
