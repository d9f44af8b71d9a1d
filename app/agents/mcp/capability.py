"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability, Command

MCP = Capability(
    installs=("agents.mcp.api:install",),
    commands={
        "mcp": Command("serve", "agents.mcp.commands:mcp", "Serve the tools for agents over MCP on stdin and stdout."),
    },
)
