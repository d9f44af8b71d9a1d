"""Stores what callers say about the hits of searches, exports it, and deletes it when it expires."""

from __future__ import annotations

from app.capability import Capability, Command

FEEDBACK = Capability(
    tables=("feedback.store:TABLES",),
    exports=("feedback",),
    routers=("feedback.api:router",),
    installs=("feedback.api:install",),
    commands={
        "feedback": Command("search", "feedback.commands:app", "Judge hits, and export the judgements."),
    },
    tools=("feedback.tools:TOOLS",),
    optional_tools=("rate_passage",),
    expires=("feedback.operations:expire",),
    options=("feedback.types:options",),
)
