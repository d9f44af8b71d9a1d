"""Serves the tools over MCP: at /mcp, on stdin and stdout, and as a bridge to a running service."""

from __future__ import annotations

from app.capability import Capability, Command

MCP = Capability(
    installs=("agents.mcp.api:install",),
    commands={
        "mcp": Command("serve", "agents.mcp.commands:mcp", "Serve the tools for agents over MCP on stdin and stdout."),
    },
)
