"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability

AGENTS = Capability(
    routers=("agents.api:router",),
    tags={"tools": "Tools for agents: definitions and calls."},
    tools=("agents.search_tools:TOOLS", "agents.document_tools:TOOLS"),
)
