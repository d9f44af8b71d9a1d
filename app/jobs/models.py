"""Defines the response models of background jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.http.contract.responses import Response
from app.kinds import JobStatus

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
    page: int | None = Field(
        None, description="Page of the file that is read now at which recognition (OCR) is; null without it."
    )
    pages: int | None = Field(None, description="Pages of that file.")
    seconds: float | None = Field(
        None, description="Time that it has worked, in seconds; null before its first progress."
    )
    stages: dict[str, float] = Field(
        default_factory=dict,
        description="Seconds in which each stage was busy: parsing, recognition (OCR), cutting, model, database. "
        "They overlap.",
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
        description="What a job that is done has stored; of a source also its files by format, as `formats`, and those "
        "that failed, as `failures`."
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
