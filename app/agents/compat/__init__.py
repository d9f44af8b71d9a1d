"""Translates the contracts of other platforms to searches and reads, where the settings name them."""

from __future__ import annotations

from app.capability import Capability

COMPAT = Capability(
    installs=("agents.compat.dify_router:install",),
    tools=("agents.compat.chatgpt:TOOLS",),
)
