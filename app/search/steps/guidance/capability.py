"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability

GUIDANCE = Capability(
    routers=("search.steps.guidance.api:router",),
)
