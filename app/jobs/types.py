"""Types of background jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from prometheus_client import Counter

from app.kinds import JobStatus


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as its user sees it. `error` is the code of the last failure."""

    job_id: UUID
    kind: str
    status: JobStatus
    payload: Mapping[str, Any]
    progress: Mapping[str, Any]
    result: Mapping[str, Any]
    error: str | None
    attempts: int
    created_at: datetime
    run_at: datetime
    finished_at: datetime | None

    @property
    def is_final(self) -> bool:
        """Whether the job will not run again."""
        return self.status in ("done", "failed", "cancelled")

    @property
    def document_id(self) -> str | None:
        """The document that the job stores; None if it concerns none or several."""
        return self.result.get("document_id") or self.payload.get("document_id")

    @property
    def source_id(self) -> str | None:
        """The source that the job synchronises; None for other jobs."""
        return self.payload.get("source_id")


class Outcomes:
    """The metrics of the jobs that this process has run."""

    def __init__(self) -> None:
        counter = partial(Counter, registry=None)
        self.done = counter("stepwell_jobs", "Background jobs that this process has run.", ["kind"])
        self.chunks = counter("stepwell_job_chunks", "Chunks that those jobs read or stored.", ["kind"])
        meaning = "Attempts at jobs that failed in this process."
        self.failures = counter("stepwell_job_failures", meaning, ["kind", "code"])
