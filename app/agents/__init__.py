"""Serves the tools that agents call: the registry, its exports, and the REST endpoints."""

from __future__ import annotations

from app.capability import Capability

TOOLS = Capability(
    tools=("agents.search_tools:TOOLS", "agents.document_and_entity_tools:TOOLS"),
    optional_tools=("add_document", "delete_document"),
)

AGENTS = Capability(
    routers=("agents.api:router",),
    tags={"tools": "Tools for agents: definitions and calls."},
)
