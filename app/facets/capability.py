"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability, Command

FACETS = Capability(
    routers=("facets.api:router",),
    commands={
        "facets": Command("facets.commands:facets", "List keys and values of metadata."),
    },
    tools=("facets.tools:TOOLS",),
)
