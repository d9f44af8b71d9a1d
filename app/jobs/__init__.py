"""Runs background jobs: the queue, its workers, and what they report."""

from __future__ import annotations

from app.capability import Capability, Command

JOBS = Capability(
    routers=("jobs.api:router",),
    tags={"jobs": "Follow and cancel background jobs."},
    expires=("jobs.store:expire",),
    installs=("jobs.job_metrics:install",),
    commands={"jobs": Command("store", "jobs.commands:app", "List, show and cancel background jobs.")},
)
