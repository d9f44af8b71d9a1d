"""Counts the keys and values of metadata."""

from __future__ import annotations

from app.capability import Capability, Command

FACETS = Capability(
    metadata=("facets.store:record",),
    missed_filters=("facets.operations:find_missed",),
    repairs=("facets.operations:REPAIRS",),
    tables=("facets.store:TABLES",),
    routers=("facets.api:router",),
    commands={
        "facets": Command("search", "facets.commands:facets", "List keys and values of metadata."),
    },
    tools=("facets.tools:TOOLS",),
)
