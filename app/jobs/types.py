"""Types of background jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

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


@dataclass(slots=True)
class Outcomes:
    """What this process has run: jobs that ended, what they worked on, and failed attempts by kind and code."""

    done: Counter[str] = field(default_factory=Counter)
    chunks: Counter[str] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
