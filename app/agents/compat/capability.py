"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability

COMPAT = Capability(
    installs=("agents.compat.dify_router:install",),
    tools=("agents.compat.chatgpt:TOOLS",),
)
