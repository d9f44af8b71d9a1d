"""Lists the kinds of background jobs that the capabilities declare."""

from __future__ import annotations

from app import capability
from app.jobs.workers import JobKind


def every() -> tuple[JobKind, ...]:
    """The kinds of all capabilities."""
    return capability.declared("jobs")


def uncancellable() -> list[str]:
    """The names of the kinds whose jobs cannot be cancelled."""
    return [kind.name for kind in every() if not kind.is_cancellable]
