"""Explains where a passage stands in a search and what keeps it out."""

from __future__ import annotations

from app.capability import Capability, Command

WHY = Capability(
    routers=("search.steps.why.api:router",),
    commands={
        "why": Command(
            "search", "search.steps.why.commands:why", "Explain why a passage is not in an answer.", takes_query=True
        ),
    },
)
